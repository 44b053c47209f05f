"""Provenance: a JSON file beside every artefact says how it was made, and from what."""

import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.store.atomic import read_json, write_json
from pipeline.store.process_record import process_record

PACKAGES = (
    *("torch", "numpy", "scipy", "pandas", "pyarrow", "safetensors", "lightning-fabric", "snakemake"),
    *("chgnet", "ase", "pymatgen", "matminer", "smact"),
    *("tokenizers", "transformers", "datasets"),
    *("pillow", "vector-quantize-pytorch"),
)
USED = ("command", "device", "host", "started", "wall_seconds", "peak_memory_mb", "resumed")


def sidecar_of(artefact: Path) -> Path:
    """Return the path of an artefact's provenance."""
    return artefact.with_name(f"{artefact.name}.provenance.json")


def write_provenance(artefacts: Iterable[Path], settings: Mapping[str, Any], seed: int, inputs: Iterable[Path]) -> None:
    """Write beside each artefact its checksum, and the settings, seed, inputs and code that it was made with.

    The record also has the command to repeat it, the machine, and the time and memory used so far.
    """
    record = {
        "settings_sha256": settings_hash(settings),
        "settings": settings,
        "seed": seed,
        "inputs": {str(path): known_hash(path) for path in inputs},
        "code": code_version(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        **process_record(),
    }
    for artefact in artefacts:
        write_json(sidecar_of(artefact), identity_of(artefact) | record)


def gather_provenance(artefact: Path, shards: Sequence[Path]) -> None:
    """Write beside an artefact what its shards have in common, and the time and memory that each used.

    Its inputs are those of all shards, its seconds their sum, its memory that of the largest.
    """
    records = {str(shard): read_record(shard) for shard in shards}
    used: list[dict[str, Any]] = [
        {"artefact": path} | {key: record.get(key) for key in USED} for path, record in records.items()
    ]
    first, *others = records.values()
    inputs = dict(first["inputs"])
    for record in others:
        inputs |= record["inputs"]
    gathered = {
        **identity_of(artefact),
        "inputs": inputs,
        "command": process_record()["command"],
        "wall_seconds": round(sum(shard["wall_seconds"] for shard in used), 3),
        "peak_memory_mb": max(shard["peak_memory_mb"] for shard in used),
        "resumed": any(shard["resumed"] for shard in used),
        "shards": used,
    }
    write_json(sidecar_of(artefact), first | gathered)


def read_record(artefact: Path) -> dict[str, Any]:
    """Return the provenance of an artefact, which must be there."""
    record: dict[str, Any] = read_json(sidecar_of(artefact))
    return record


def settings_hash(settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 of settings, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def identity_of(artefact: Path) -> dict[str, Any]:
    """Return the name and checksum of a file, and the size and time that tell it from a later one of that name."""
    return {"artefact": artefact.name, "sha256": file_hash(artefact), "modified": _modified(artefact)}


def known_hash(path: Path) -> str:
    """Return the SHA-256 of a file, from its provenance if that is up to date: hashing may take many minutes."""
    if sidecar_of(path).is_file():
        record = read_record(path)
        if (record.get("artefact"), record.get("modified")) == (path.name, _modified(path)):
            return str(record["sha256"])
    return file_hash(path)


def _modified(path: Path) -> list[int]:
    """Return the size of a file and when it was last written to."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file or, for a folder, that of the names and sizes of all files in it."""
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file())
        return settings_hash({str(file.relative_to(path)): file.stat().st_size for file in found})
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@cache
def code_version() -> str:
    """Return the version of the package and, in a Git repository, the output of `git describe`."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        described = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git on this machine: the version alone has to do
        return __version__
    return f"{__version__} ({described.stdout.strip()})" if described.returncode == 0 else __version__
