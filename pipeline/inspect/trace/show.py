"""A trace as a tree, one line per file, and as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.inspect.trace.benchmarks import Used
from pipeline.inspect.trace.graph import CHANGED, FETCHED, MISSING, UNRECORDED, Trace, Traced

_DIGITS = 12  # of a checksum


def as_text(trace: Trace) -> str:
    """Return the tree: each file is below what was made from it, and its inputs are shown only the first time."""
    return "\n".join([*_lines(trace, trace.artefact, None, "", "", set()), "", summary(trace), ""])


def summary(trace: Trace) -> str:
    """Return how many files there are, and how many have changed, are missing or have no record."""
    states = [file.state for file in trace.files.values()]
    stale = {
        path
        for file in trace.files.values()
        for path, sha256 in file.inputs.items()
        if trace.changed_since(path, sha256) or trace.files[path].state == CHANGED
    }
    changed = len(stale | ({trace.artefact} if trace.files[trace.artefact].state == CHANGED else set()))
    rest = f"{changed} changed since, {states.count(MISSING)} missing, {states.count(UNRECORDED)} without provenance"
    return f"{len(states)} files: {rest}"


def as_json(trace: Trace) -> dict[str, Any]:
    """Return all files with what is known about them, the artefact first."""
    return {"artefact": str(trace.artefact), "files": [_entry(trace, file) for file in trace.files.values()]}


def _entry(trace: Trace, file: Traced) -> dict[str, Any]:
    known = ("seed", "code", "device", "host", "started", "command", "settings_sha256", "resumed", "shards")
    inputs = [
        {"path": str(path), "sha256": sha256, "changed_since": trace.changed_since(path, sha256)}
        for path, sha256 in file.inputs.items()
    ]
    return {
        "path": str(file.path),
        "state": file.state,
        "sha256": file.sha256,
        **({"origin": file.origin} if file.origin else {}),
        **{key: file.record[key] for key in known if key in file.record},
        **(asdict(file.used) if file.used else {}),
        "inputs": inputs,
    }


def _lines(trace: Trace, path: Path, recorded: str | None, indent: str, below: str, seen: set[Path]) -> Iterator[str]:
    file, again = trace.files[path], path in seen
    seen.add(path)
    yield f"{indent}{path}  {_said(trace, file, recorded, again)}"
    children = [] if again else list(file.inputs.items())
    for number, (child, sha256) in enumerate(children, start=1):
        last = number == len(children)
        yield from _lines(
            trace, child, sha256, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "), seen
        )


def _said(trace: Trace, file: Traced, recorded: str | None, again: bool) -> str:
    words = [(file.sha256 or recorded or "")[:_DIGITS]]
    if file.state == CHANGED:
        words.append("CHANGED since it was made")
    elif recorded is not None and trace.changed_since(file.path, recorded):
        words.append(f"CHANGED since, it was {recorded[:_DIGITS]}")
    elif file.state == MISSING:
        words.append("MISSING")
    if again:
        return "  ".join([*words, "(above)"])
    if file.state == FETCHED:
        words.append(f"fetched: {file.origin}")
    elif file.state == UNRECORDED:
        words.append("no provenance: a file of your own, or its record is missing")
    return "  ".join(words + (_known(file.record, file.used) if file.used else []))


def _known(record: dict[str, Any], used: Used) -> list[str]:
    """Return seed, code, device, seconds and memory."""
    count = len(record.get("shards", ()))
    shards = [f"{count} shards"] if count > 1 else []
    last = " (after a resumption)" if record.get("resumed") else ""
    seconds = [] if used.wall_seconds is None else [f"{used.wall_seconds:.1f} s{last}"]
    memory = [] if used.peak_memory_mb is None else [f"{used.peak_memory_mb:.0f} MB"]
    device = [str(record["device"])] if "device" in record else []
    return [f"seed {record['seed']}", f"code {record['code']}", *device, *shards, *seconds, *memory]
