"""What Snakemake measured for the job that made an artefact.

The path of a rule's benchmark is that of its first output, with `benchmarks` and the name of its command in place of
the first folder: `train` makes results/demo/models/text/ar.safetensors, and its benchmark is
results/demo/benchmarks/train/text/ar.tsv.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

FOLDER = "benchmarks"


@dataclass(frozen=True)
class Used:
    """Seconds and memory of a job, and who measured them: `benchmark` or the `process` itself; None: not known."""

    wall_seconds: float | None
    peak_memory_mb: float | None
    measured_by: str


def used_for(artefact: Path, record: dict[str, Any]) -> Used:
    """Return the resources that making an artefact took, over all shards if it was joined from some."""
    if "shards" not in record:
        return _used_by(artefact, record)
    parts = [_used_by(Path(shard["artefact"]), shard) for shard in record["shards"]]
    seconds = [part.wall_seconds for part in parts]
    peaks = [part.peak_memory_mb for part in parts if part.peak_memory_mb is not None]
    total = None if None in seconds else sum(filter(None, seconds))
    return Used(total, max(peaks, default=None), " and ".join(sorted({part.measured_by for part in parts})))


def _used_by(artefact: Path, record: dict[str, Any]) -> Used:
    """Return the resources of one job, measured by Snakemake after the recorded process or else by the process."""
    measured = benchmark_of(artefact, record.get("command", ()))
    if measured is not None and {"started", "wall_seconds"} <= record.keys():
        ended = datetime.fromisoformat(record["started"]).timestamp() + record["wall_seconds"]
        rows = benchmark_rows(measured)
        if rows and measured.stat().st_mtime >= ended:
            return Used(_number(rows[-1].get("s")), _number(rows[-1].get("max_rss")), "benchmark")
    return Used(record.get("wall_seconds"), record.get("peak_memory_mb"), "process")


def benchmark_of(artefact: Path, command: Sequence[str]) -> Path | None:
    """Return the benchmark file of the command of ours that made an artefact, if there is one."""
    words = list(command)
    stage = words[words.index("pipeline") + 1] if "pipeline" in words[:-1] else None
    for results in artefact.parents:
        if stage and (results / FOLDER).is_dir():
            inside = artefact.relative_to(results).with_suffix(".tsv").parts[1:]
            path = results.joinpath(FOLDER, stage.replace("-", "_"), *inside)
            return path if inside and path.is_file() else None
    return None


def benchmark_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a benchmark, one for each time that the job was repeated."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def seconds_of(path: Path) -> float | None:
    """Return how long a job took by its benchmark; None: it has not run, or was too short to measure."""
    rows = benchmark_rows(path) if path.is_file() else []
    return _number(rows[-1].get("s")) if rows else None


def _number(text: str | None) -> float | None:
    """Return a number of a benchmark; Snakemake writes NA or - if a job was too short to measure."""
    try:
        return float(text or "")
    except ValueError:
        return None
