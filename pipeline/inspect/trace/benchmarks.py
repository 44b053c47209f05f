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


def used_by(artefact: Path, record: dict[str, Any]) -> Used:
    """Return the resources that making an artefact or a shard took, measured by Snakemake or else by the process."""
    measured = benchmark_of(artefact, record.get("command", ()))
    if measured is not None and _is_of(measured, record):
        with measured.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t"))
        if rows:
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


def _is_of(benchmark: Path, record: dict[str, Any]) -> bool:
    """Return whether a benchmark was written after the recorded process ended, which was then the last one."""
    try:
        ended = datetime.fromisoformat(record["started"]).timestamp() + record["wall_seconds"]
    except KeyError:
        return False
    return benchmark.stat().st_mtime >= ended


def _number(text: str | None) -> float | None:
    """Return a number of a benchmark; Snakemake writes NA or - if a job was too short to measure."""
    try:
        return float(text or "")
    except ValueError:
        return None
