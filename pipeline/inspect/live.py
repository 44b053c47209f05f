"""The progress of a run of the workflow: which of its planned jobs are done, and which are at work.

When a run starts, it writes down its jobs with the files that each makes. Whoever looks compares these with the disk.
"""

import os
import socket
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil
from pydantic import Field, ValidationError

from pipeline.config import Config, Strict
from pipeline.errors import KinoflowError
from pipeline.store.atomic import read_json, write_json
from pipeline.store.places import Place

TAIL = 4096  # bytes at the end of a log that are looked at
LATELY = 120.0  # seconds
NO_RUN = "No run was started in these results yet."


class _PlannedJob(Strict):
    """A job that a run is going to make."""

    rule: str
    name: str
    outputs: list[str]
    benchmark: str
    log: str


class _Planned(Strict):
    """What is known of a run before it begins."""

    started: float
    process: int = Field(ge=0, lt=2**31)
    host: str
    jobs: list[_PlannedJob]


def write_planned(path: Path, jobs: Iterable[Any]) -> None:
    """Write the jobs that a run is going to make (Snakemake's own objects), and which process it is."""
    planned = [
        {
            "rule": job.rule.name,
            "name": " ".join([job.rule.name, *map(str, job.wildcards_dict.values())]),
            "outputs": [str(file) for file in job.output],
            "benchmark": str(job.benchmark) if job.benchmark else "",
            "log": str(job.log[0]) if job.log else "",
        }
        for job in jobs
        if job.output
    ]
    started = {"started": time.time(), "process": os.getpid(), "host": socket.gethostname()}
    write_json(path, started | {"jobs": planned})


def progress_of(config: Config, results: Path, built: float = 0.0) -> dict[str, Any]:
    """Return how many jobs of the last run are done, which run now, and the losses of what is trained now.

    `built` is when the page was built; `changed` says whether there are figures that it does not have.
    """
    file = Place.PLANNED.under(results)
    if not file.is_file():
        return {"planned": 0, "done": 0, "running": [], "losses": {}, "note": NO_RUN, "changed": False}
    run = _planned_in(file)
    jobs, started = run["jobs"], run["started"]
    done = [job for job in jobs if _is_done(job, started)]
    open_jobs = [job for job in jobs if not _is_done(job, started)]
    begun = [job for job in open_jobs if job["log"] and _modified(Path(job["log"])) >= started]
    at_work = _is_alive(run, begun) and bool(open_jobs)
    stopped = f"{len(begun)} were begun and not finished: run the workflow again to go on." if begun else ""
    training = [job["name"].split()[1:] for job in begun if job["rule"] == "train"]
    scores = max((_modified(path) for path in (results / "scores").glob("*/*.json")), default=0.0)
    return {
        "planned": len(jobs),
        "done": len(done),
        "at_work": at_work,
        "running": [{"name": job["name"], "last": _last_line(Path(job["log"]))} for job in begun] if at_work else [],
        "losses": _losses(config, results, training) if at_work else {},
        "note": "" if at_work else stopped,
        "changed": scores > built,
    }


def _planned_in(file: Path) -> dict[str, Any]:
    """Return what `write_planned` wrote."""
    try:
        return _Planned.model_validate(read_json(file)).model_dump()
    except ValidationError as error:
        raise KinoflowError(f"{file}: holds no planned jobs; remove it, or run the workflow again") from error


def _is_done(job: Mapping[str, Any], started: float) -> bool:
    """Return whether a job has made its files in this run; shards are removed later, their benchmark stays."""
    files = [Path(path) for path in job["outputs"]]
    measured = job["benchmark"] and _modified(Path(job["benchmark"])) >= started
    return bool(measured) or all(_modified(path) >= started for path in files)


def _modified(path: Path) -> float:
    """Return when a file was last written to; -1 if it is not there."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return -1.0


def _is_alive(run: Mapping[str, Any], begun: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the run's process lives; on another machine, whether a log was written to lately."""
    if run["host"] != socket.gethostname():
        return any(_modified(Path(job["log"])) > time.time() - LATELY for job in begun)
    try:
        return psutil.Process(run["process"]).create_time() <= run["started"]
    except psutil.NoSuchProcess:
        return False


def _last_line(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - TAIL))
        lines = stream.read().decode("utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _losses(config: Config, results: Path, training: Iterable[list[str]]) -> dict[str, Any]:
    from pipeline.page.contents import losses_of  # imports torch, which a run of the workflow does not need

    found: dict[str, Any] = {}
    for experiment, name in training:
        losses = losses_of(results, experiment, config.experiments[experiment])
        if name in losses:
            found.setdefault(experiment, {})[name] = losses[name]
    return found
