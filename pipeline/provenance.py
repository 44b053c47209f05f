"""Provenance: beside every artefact a JSON file that says what made it from what."""

import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.atomic import write_json

PACKAGES = (
    *("torch", "numpy", "scipy", "pandas", "pyarrow", "safetensors", "lightning-fabric", "snakemake"),
    *("chgnet", "ase", "pymatgen", "matminer", "smact"),
    *("tokenizers", "transformers", "datasets"),
    *("pillow", "vector-quantize-pytorch"),
)


def sidecar_of(artefact: Path) -> Path:
    """Return where the provenance of an artefact lies."""
    return artefact.with_name(f"{artefact.name}.provenance.json")


def write_provenance(artefacts: Iterable[Path], settings: Mapping[str, Any], seed: int, inputs: Iterable[Path]) -> None:
    """Write beside each artefact its checksum, the settings, seed and inputs it was made from, and by which code."""
    record = {
        "settings_sha256": settings_hash(settings),
        "settings": settings,
        "seed": seed,
        "inputs": {str(path): known_hash(path) for path in inputs},
        "code": code_version(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }
    for artefact in artefacts:
        write_json(sidecar_of(artefact), {"artefact": artefact.name, "sha256": file_hash(artefact)} | record)


def inherit_provenance(artefact: Path, source: Path) -> None:
    """Write beside an artefact the provenance of the one that it was copied or put together from."""
    record = json.loads(sidecar_of(source).read_text(encoding="utf-8"))
    write_json(sidecar_of(artefact), record | {"artefact": artefact.name, "sha256": file_hash(artefact)})


def settings_hash(settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 of settings, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def known_hash(path: Path) -> str:
    """Return the SHA-256 of a file, from its provenance if that is not older: hashing all tokens takes many minutes."""
    sidecar = sidecar_of(path)
    if sidecar.is_file() and sidecar.stat().st_mtime_ns >= path.stat().st_mtime_ns:
        record = json.loads(sidecar.read_text(encoding="utf-8"))
        if record.get("artefact") == path.name:
            return str(record["sha256"])
    return file_hash(path)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder, that of the names and sizes of all files in it."""
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file())
        return settings_hash({str(file.relative_to(path)): file.stat().st_size for file in found})
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@cache
def code_version() -> str:
    """Return the version of the package and, in a Git repository, what `git describe` says of it."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        described = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git on this machine: the version alone has to do
        return __version__
    return f"{__version__} ({described.stdout.strip()})" if described.returncode == 0 else __version__
