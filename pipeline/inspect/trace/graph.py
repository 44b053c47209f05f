"""The files that an artefact was made from, each compared with the checksums in the records."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.errors import KinoflowError
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.inspect.trace.benchmarks import Used, used_by
from pipeline.store.provenance import file_hash, read_record, sidecar_of

UNCHANGED, CHANGED, MISSING, UNRECORDED, FETCHED = "unchanged", "changed", "missing", "no provenance", "fetched"


@dataclass(frozen=True)
class Traced:
    """A file: its state and checksum now, its record, what making it took, and its origin if it was fetched."""

    path: Path
    state: str
    sha256: str | None
    record: dict[str, Any] = field(default_factory=dict)
    used: Used | None = None
    origin: str = ""

    @property
    def inputs(self) -> dict[Path, str]:
        """The inputs with the checksums that they had when the file was made."""
        return {Path(path): sha256 for path, sha256 in self.record.get("inputs", {}).items()}


@dataclass(frozen=True)
class Trace:
    """An artefact and all files that it was made from, by path, itself first."""

    artefact: Path
    files: dict[Path, Traced]

    def changed_since(self, path: Path, sha256: str) -> bool:
        """Return whether a file has changed since something was made from it."""
        now = self.files[path].sha256
        return now is not None and now != sha256


def trace_artefact(artefact: Path) -> Trace:
    """Return where an artefact comes from; raise if it has no record, but only mark inputs without one."""
    if not artefact.exists():
        raise KinoflowError(f"{artefact}: no such file; give a file that the workflow has made")
    if not sidecar_of(artefact).is_file():
        raise KinoflowError(
            f"{artefact}: there is no record of it ({sidecar_of(artefact).name}); give a file that the workflow has "
            "made, such as results/demo/tables/text.csv, or make it again"
        )
    files: dict[Path, Traced] = {}
    waiting = [artefact]
    while waiting:
        path = waiting.pop(0)
        if path not in files:
            files[path] = _traced(path)
            waiting += files[path].inputs
    return Trace(artefact, files)


def _traced(path: Path) -> Traced:
    sha256 = file_hash(path) if path.exists() else None
    if not sidecar_of(path).is_file():
        published = CATALOGUE.get("/".join(path.parts[-2:]))
        if published is not None and (published.sha256 is None or sha256 in (published.sha256, None)):
            return Traced(path, FETCHED if sha256 else MISSING, sha256, origin=published.origin)
        return Traced(path, UNRECORDED if sha256 else MISSING, sha256)
    record = read_record(path)
    state = MISSING if sha256 is None else UNCHANGED if record["sha256"] == sha256 else CHANGED
    return Traced(path, state, sha256, record, _used(path, record))


def _used(path: Path, record: dict[str, Any]) -> Used:
    """Return the resources that making a file took, over all shards if it was joined from some."""
    if "shards" not in record:
        return used_by(path, record)
    parts = [used_by(Path(shard["artefact"]), shard) for shard in record["shards"]]
    seconds = [part.wall_seconds for part in parts]
    peaks = [part.peak_memory_mb for part in parts if part.peak_memory_mb is not None]
    total = None if None in seconds else sum(filter(None, seconds))
    return Used(total, max(peaks, default=None), " and ".join(sorted({part.measured_by for part in parts})))
