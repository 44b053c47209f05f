"""The jobs of a configuration, done or not: how many there are, what they need and what they depend on."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pipeline.config import Config
from pipeline.stages import load_stages
from pipeline.stages.declaration import Stage
from pipeline.stages.job import Job, Need

Planned = tuple[Stage[Any], Job]


def all_jobs(config: Config, *names: str) -> list[Planned]:
    """Return the jobs of all stages for all experiments, or for those named."""
    experiments = [Job(config, name) for name in names or config.experiments]
    return [(stage, job) for stage in load_stages().values() for one in experiments for job, _ in stage.jobs(one)]


def jobs_of(experiment: Job) -> Counter[str]:
    """Return how many jobs of each stage, except fetching, an experiment has; stages without jobs are left out."""
    return +Counter({name: sum(n for _, n in stage.jobs(experiment)) for name, stage in load_stages().items()})


def needs_of(planned: Iterable[Planned]) -> list[Need]:
    """Return what jobs need besides what the workflow makes itself, each thing once."""
    return list(dict.fromkeys(need for stage, job in planned for need in stage.needs_of(job)))


def needed_files(config: Config, *experiments: str) -> list[str]:
    """Return the catalogue names of all files that the experiments need, or that those named need."""
    needs = needs_of(all_jobs(config, *experiments))
    return list(dict.fromkeys(name for need in needs for name in need.fetched))


def fetched_files(config: Config) -> list[str]:
    """Return the catalogue names of the files that the workflow would fetch: those that the cache lacks."""
    return [name for name in needed_files(config) if not (Path(config.data.cache) / name).is_file()]


def dependencies_of(config: Config) -> dict[str, Any]:
    """Return settings and code by stage, experiment and, where a stage works on one, run or reference."""
    found: dict[str, Any] = {}
    for stage, job in all_jobs(config):
        known = {"settings": json.loads(stage.settings_text(job)), "code": stage.code(job)[:16]}
        experiments = found.setdefault(stage.name, {})
        if job.name:
            experiments.setdefault(job.experiment, {})[job.name] = known
        else:
            experiments[job.experiment] = known
    return found
