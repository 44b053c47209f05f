"""All checks together, so that a user sees at once everything that is missing."""

from collections.abc import Collection

from pipeline.config import Config
from pipeline.inspect.jobs import Planned, all_jobs, needs_of
from pipeline.inspect.preflight.files import check_files
from pipeline.inspect.preflight.findings import Findings
from pipeline.inspect.preflight.machine import (
    check_disk,
    missing_gpus,
    missing_nodes,
    missing_packages,
    missing_potentials,
    other_packages,
    results_need,
)

WHOLE = {"train", "sample", "score"}  # an experiment that runs all of these starts from scratch


def preflight(config: Config, planned: Collection[Planned] | None = None, *, local: bool = True) -> Findings:
    """Return all problems and remarks of a run; nothing is fetched.

    `planned` are the jobs that will run, None for all of them. Jobs that are not `local` see other GPUs, and check them
    themselves.
    """
    jobs = all_jobs(config) if planned is None else planned
    found, needs = Findings(), needs_of(jobs)
    awaited = check_files(needs, config.data, found)
    # If an experiment is resumed, or only a part of it is wanted, we do not know how much of its plan it will write.
    stages: dict[str, set[str]] = {}
    for stage, job in jobs:
        stages.setdefault(job.experiment, set()).add(stage.name)
    new = [name for name, run in stages.items() if run >= WHOLE]
    check_disk(config, results_need(config, new), awaited, found)
    if local:
        found.problems.extend([*missing_gpus(needs), *missing_nodes(needs)])
    (found.problems if local else found.remarks).extend(missing_packages(needs))
    found.remarks.extend(other_packages())
    if planned is None and any(experiment.crystals for experiment in config.experiments.values()):
        found.remarks.extend(missing_potentials())  # no rule of the workflow needs them
    return found
