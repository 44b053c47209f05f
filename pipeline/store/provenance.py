"""Provenance: a JSON file beside every artefact says how it was made, and from what."""

import hashlib
import importlib.metadata
import json
import platform
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.errors import KinoflowError, without_secrets
from pipeline.store.atomic import read_json, write_json

PACKAGES = (
    *("torch", "numpy", "scipy", "pandas", "pyarrow", "safetensors", "lightning-fabric", "snakemake"),
    *("chgnet", "sevenn", "ase", "pymatgen", "matminer", "smact"),
    *("tokenizers", "transformers", "datasets"),
    *("pillow", "vector-quantize-pytorch"),
)
RECORDED = {"sha256": str, "inputs": dict, "seed": int, "code": str, "command": list}  # and more
USED = ("command", "device", "host", "started", "wall_seconds", "peak_memory_mb", "resumed")
_STARTED, _CLOCK = datetime.now(UTC), time.monotonic()  # at import, which the command line does first
_BYTES = 1 if sys.platform == "darwin" else 1024  # per unit of ru_maxrss
_command: list[str] = []
_taken_up: list[str] = []


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
    gathered = {
        **identity_of(artefact),
        "inputs": {path: known for record in records.values() for path, known in record["inputs"].items()},
        "command": process_record()["command"],
        "wall_seconds": round(sum(shard["wall_seconds"] for shard in used), 3),
        "peak_memory_mb": max(shard["peak_memory_mb"] for shard in used),
        "resumed": any(shard["resumed"] for shard in used),
        "shards": used,
    }
    write_json(sidecar_of(artefact), records[str(shards[0])] | gathered)


def read_record(artefact: Path) -> dict[str, Any]:
    """Return the provenance of an artefact, which must be there."""
    file = sidecar_of(artefact)
    record = read_json(file)
    known = record if isinstance(record, dict) else {}
    if wrong := [key for key, kind in RECORDED.items() if not isinstance(known.get(key), kind)]:
        raise KinoflowError(f"{file}: says nothing of the {wrong[0]} of {artefact}; make this again")
    return known


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


def fingerprint(settings: Mapping[str, Any], inputs: Iterable[Path], code: str) -> str:
    """Return a hash of what unfinished work is made from: with other settings, data or code it cannot be resumed."""
    return settings_hash({"settings": settings, "inputs": [known_hash(path) for path in inputs], "code": code})


@cache
def code_version() -> str:
    """Return the version of the package and, in a Git repository, the output of `git describe`."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        described = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git on this machine: the version alone has to do
        return __version__
    return f"{__version__} ({described.stdout.strip()})" if described.returncode == 0 else __version__


def set_command(arguments: Sequence[str]) -> None:
    """Remember the command line of this process, given its arguments."""
    _command[:] = ["python", "-m", "pipeline", *map(without_secrets, arguments)]


def note_resumption(work: str) -> None:
    """Remember that this process resumes earlier work: its time and memory are not all that the work took."""
    _taken_up.append(work)


def process_record() -> dict[str, Any]:
    """Return the command, device, host, start, seconds and peak memory of this process so far.

    `peak_memory_mb` is the peak of the process or of its largest finished child, whichever is more. If work was
    `resumed`, only the last attempt counts.
    """
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(kind).ru_maxrss for kind in kinds) * _BYTES
    return {
        "command": list(_command or sys.orig_argv),
        "device": device(),
        "host": socket.gethostname(),
        "started": _STARTED.isoformat(timespec="milliseconds"),
        "wall_seconds": round(time.monotonic() - _CLOCK, 3),
        "peak_memory_mb": round(peak / 1e6, 1),
        "resumed": bool(_taken_up),
    }


def device() -> str:
    """Return the names of the CUDA devices that were used or, if none was, the model of the processor."""
    torch: Any = sys.modules.get("torch")  # if nothing imported it, nothing was computed with it
    if torch is None or not torch.cuda.is_initialized():
        return processor()
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        used = list(range(min(torch.distributed.get_world_size(), torch.cuda.device_count())))  # one per process
    else:
        used = [number for number in range(torch.cuda.device_count()) if torch.cuda.max_memory_allocated(number)]
    return ", ".join(torch.cuda.get_device_name(number) for number in used) or processor()


@cache
def processor() -> str:
    """Return the model of the processor, as Linux names it, or the kind of machine."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text(encoding="utf-8", errors="replace").splitlines() if described.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
