"""All checks together, so that a user sees at once everything that is missing."""

from collections.abc import Collection

from pipeline.config import Config
from pipeline.inspect.jobs import Planned, all_jobs, needs_of
from pipeline.inspect.preflight.disk import check_disk, disk_need, planned_need
from pipeline.inspect.preflight.files import check_files
from pipeline.inspect.preflight.findings import Findings
from pipeline.inspect.preflight.machine import check_gpus_here, check_nodes_here, check_packages, check_potentials

WHOLE = {"train", "sample", "score"}  # an experiment that runs all of these starts from scratch


def preflight(config: Config, planned: Collection[Planned] | None = None, *, local: bool = True) -> Findings:
    """Return all problems and remarks of a run; nothing is fetched.

    `planned` are the jobs that will run, None for all of them. Jobs that are not `local` see other GPUs, and check them
    themselves.
    """
    jobs = all_jobs(config) if planned is None else planned
    found, needs = Findings(), needs_of(jobs)
    files = check_files(needs, config.data)
    found.add(files)
    # If an experiment is resumed, or only a part of it is wanted, we do not know how much of its plan it will write.
    stages: dict[str, set[str]] = {}
    for stage, job in jobs:
        stages.setdefault(job.experiment, set()).add(stage.name)
    new = [name for name, found_there in stages.items() if found_there >= WHOLE]
    need = planned_need(config, files.awaited, new) if new else disk_need(config, files.awaited)
    found.add(check_disk(config, need, files.awaited))
    if local:
        found.add(check_gpus_here(needs))
        found.add(check_nodes_here(needs))
    found.add(check_packages())
    if planned is None and any(experiment.crystals for experiment in config.experiments.values()):
        found.add(check_potentials())  # no rule of the workflow needs them
    return found
