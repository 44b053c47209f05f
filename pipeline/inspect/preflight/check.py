"""All checks, one after the other, so that a user sees everything that is missing at once."""

from pipeline.config import Config
from pipeline.inspect.preflight.disk import check_disk, disk_need, planned_need
from pipeline.inspect.preflight.files import check_files
from pipeline.inspect.preflight.findings import Findings
from pipeline.inspect.preflight.machine import check_gpus_here, check_nodes_here, check_packages, check_potentials
from pipeline.inspect.preflight.needs import Part, needs_of


def preflight(config: Config, parts: set[Part] | None = None, *, local: bool = True) -> Findings:
    """Return all problems and remarks of a run; nothing is fetched.

    `parts` are those of the experiments that will run, None for all. Jobs that are not `local` see other GPUs, which
    each checks itself.
    """
    found, needs = Findings(), needs_of(config, parts)
    files = check_files(needs, config.data)
    found.add(files)
    # Of an experiment that goes on, or is wanted in part, nobody knows how much of what is planned it will write.
    whole = ("data", "training", "scoring")
    new = [name for name in config.experiments if parts is None or {(name, part) for part in whole} <= parts]
    need = planned_need(config, files.awaited, new) if new else disk_need(config, files.awaited)
    found.add(check_disk(config, need, files.awaited))
    if local:
        found.add(check_gpus_here(needs))
        found.add(check_nodes_here(needs))
    found.add(check_packages())
    if parts is None and any(experiment.crystals for experiment in config.experiments.values()):
        found.add(check_potentials())  # no rule of the workflow needs them
    return found
