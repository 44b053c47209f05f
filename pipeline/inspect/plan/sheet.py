"""The scale sheet of a configuration: all that is known about each experiment before anything runs."""

from collections import Counter
from dataclasses import dataclass

from pipeline.config import Config
from pipeline.inspect.jobs import fetched_files, jobs_of
from pipeline.inspect.plan.disk import Need, disk_of
from pipeline.inspect.plan.networks import Networks, networks_of
from pipeline.inspect.plan.shapes import Shape, shape_of
from pipeline.inspect.plan.work import Work, uncounted, work_of
from pipeline.stages.job import Job


@dataclass(frozen=True)
class ExperimentSheet:
    """What one experiment asks for."""

    jobs: Counter[str]
    shape: Shape
    networks: Networks
    work: list[Work]
    disk: list[Need]
    uncounted: list[str]  # metrics whose computation is not counted

    @classmethod
    def of(cls, job: Job) -> "ExperimentSheet":
        """Return the sheet of an experiment."""
        shape = shape_of(job.experiment, job.block)
        networks = networks_of(job, shape)
        work, disk = work_of(job, shape, networks), disk_of(job, shape, networks)
        return cls(jobs_of(job), shape, networks, list(work), disk, uncounted(job.block, networks.judge))


@dataclass(frozen=True)
class Sheet:
    """What all experiments of a scale ask for, and the files that would be fetched for them."""

    scale: str
    experiments: dict[str, ExperimentSheet]
    fetched: list[str]

    @property
    def jobs(self) -> Counter[str]:
        """The jobs of the whole workflow by stage, as a dry run of Snakemake counts them."""
        jobs = Counter({"all": 1, "fetch": len(self.fetched)})
        return +sum((experiment.jobs for experiment in self.experiments.values()), jobs)

    @property
    def work(self) -> list[Work]:
        """The work of all experiments."""
        return [work for experiment in self.experiments.values() for work in experiment.work]


def sheet_of(config: Config) -> Sheet:
    """Return the sheet of a configuration; nothing is fetched, read or computed for it."""
    experiments = {name: ExperimentSheet.of(Job(config, name)) for name in config.experiments}
    return Sheet(config.scale, experiments, fetched_files(config))
