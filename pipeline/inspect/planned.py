"""The jobs of a configuration, and what they need besides what the workflow makes itself."""

from collections.abc import Iterable
from typing import Any

from pipeline.config import Config
from pipeline.stages import load_stages
from pipeline.stages.declaration import Stage
from pipeline.stages.job import Job, Need

Planned = tuple[Stage[Any], Job]


def all_jobs(config: Config, *names: str) -> list[Planned]:
    """Return the jobs of all stages for all experiments, or for those named, even if they are done already."""
    experiments = [Job(config, name) for name in names or config.experiments]
    return [(stage, job) for stage in load_stages().values() for one in experiments for job, _ in stage.jobs(one)]


def needs_of(planned: Iterable[Planned]) -> list[Need]:
    """Return what jobs need, each thing once."""
    return list(dict.fromkeys(need for stage, job in planned for need in stage.needs_of(job)))
