"""Where an artefact comes from: the records beside the files, followed down to the data, as a tree and as JSON."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.errors import KinoflowError
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.fetch.checks import fault_in
from pipeline.inspect.benchmarks import Used, used_for
from pipeline.store.provenance import file_hash, read_record, sidecar_of

UNCHANGED, CHANGED, MISSING, UNRECORDED, FETCHED = "unchanged", "changed", "missing", "no provenance", "fetched"
SHOWN = ("seed", "code", "device", "host", "started", "command", "settings_sha256", "resumed", "shards")
_DIGITS = 12  # of a checksum


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
        return self.files[path].sha256 not in (None, sha256)


def trace_artefact(artefact: Path) -> Trace:
    """Return where an artefact comes from; raise if it has no record, but only mark inputs without one."""
    if not artefact.is_file() and not artefact.is_dir():
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
    sha256 = file_hash(path) if path.is_file() or path.is_dir() else None  # a device might never end
    if not sidecar_of(path).is_file():
        published = CATALOGUE.get("/".join(path.parts[-2:]))
        if published is not None and (sha256 is None or not fault_in(path, published)):
            return Traced(path, FETCHED if sha256 else MISSING, sha256, origin=published.origin)
        return Traced(path, UNRECORDED if sha256 else MISSING, sha256)
    record = read_record(path)
    state = MISSING if sha256 is None else UNCHANGED if record["sha256"] == sha256 else CHANGED
    return Traced(path, state, sha256, record, used_for(path, record))


def as_json(trace: Trace) -> dict[str, Any]:
    """Return all files with what is known about them, the artefact first."""
    return {"artefact": str(trace.artefact), "files": [_entry(trace, file) for file in trace.files.values()]}


def _entry(trace: Trace, file: Traced) -> dict[str, Any]:
    inputs = [
        {"path": str(path), "sha256": sha256, "changed_since": trace.changed_since(path, sha256)}
        for path, sha256 in file.inputs.items()
    ]
    return {
        "path": str(file.path),
        "state": file.state,
        "sha256": file.sha256,
        **({"origin": file.origin} if file.origin else {}),
        **{key: file.record[key] for key in SHOWN if key in file.record},
        **(asdict(file.used) if file.used else {}),
        "inputs": inputs,
    }


def as_text(trace: Trace) -> str:
    """Return the tree: each file is below what was made from it, and its inputs are shown only the first time."""
    states = [file.state for file in trace.files.values()]
    changed = {path for path, file in trace.files.items() if file.state == CHANGED}
    for file in trace.files.values():
        changed |= {path for path, sha256 in file.inputs.items() if trace.changed_since(path, sha256)}
    summary = (
        f"{len(states)} files: {len(changed)} changed since, {states.count(MISSING)} missing, "
        f"{states.count(UNRECORDED)} without provenance"
    )
    return "\n".join([*_lines(trace, trace.artefact, None, "", "", set()), "", summary, ""])


def _lines(trace: Trace, path: Path, recorded: str | None, indent: str, below: str, seen: set[Path]) -> Iterator[str]:
    file, again = trace.files[path], path in seen
    seen.add(path)
    yield f"{indent}{path}  {'  '.join(_words(trace, file, recorded, again))}"
    children = [] if again else list(file.inputs.items())
    for number, (child, sha256) in enumerate(children, start=1):
        branch, beside = ("└─ ", "   ") if number == len(children) else ("├─ ", "│  ")
        yield from _lines(trace, child, sha256, below + branch, below + beside, seen)


def _words(trace: Trace, file: Traced, recorded: str | None, again: bool) -> Iterator[str]:
    """Yield checksum and state of a file; the first time also where it comes from, and what making it took."""
    yield (file.sha256 or recorded or "")[:_DIGITS]
    if file.state == CHANGED:
        yield "CHANGED since it was made"
    elif recorded is not None and trace.changed_since(file.path, recorded):
        yield f"CHANGED since, it was {recorded[:_DIGITS]}"
    elif file.state == MISSING:
        yield "MISSING"
    if again:
        yield "(above)"
    elif file.state == FETCHED:
        yield f"fetched: {file.origin}"
    elif file.state == UNRECORDED:
        yield "no provenance: a file of your own, or its record is missing"
    elif file.used is not None:
        yield from _making(file.record, file.used)


def _making(record: dict[str, Any], used: Used) -> Iterator[str]:
    """Yield seed, code, device, shards, seconds and memory."""
    yield from (f"seed {record['seed']}", f"code {record['code']}")
    if "device" in record:
        yield str(record["device"])
    if (shards := len(record.get("shards", ()))) > 1:
        yield f"{shards} shards"
    if used.wall_seconds is not None:
        yield f"{used.wall_seconds:.1f} s{' (after a resumption)' if record.get('resumed') else ''}"
    if used.peak_memory_mb is not None:
        yield f"{used.peak_memory_mb:.0f} MB"
