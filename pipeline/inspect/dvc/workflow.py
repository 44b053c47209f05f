"""The jobs of the workflow, as Snakemake plans them when nothing is there yet."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.stages import load_stages, stage_called
from pipeline.stages.declaration import Stage
from pipeline.stages.job import Job

FETCH = "fetch"  # the one rule that works on no experiment
PAGE = "report_page"  # for people; DVC keeps what it is made from


@dataclass(frozen=True)
class WorkflowJob:
    """A job of a rule, the stage whose command it calls (if that is one), and its files."""

    rule: str
    stage: str = ""
    wildcards: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()  # outputs that are removed once they have been read

    @property
    def name(self) -> str:
        """The run or reference that it works on, if any."""
        return self.wildcards.get("name", "")

    @property
    def files(self) -> tuple[str, ...]:
        """All that it makes, which no other job does."""
        return (*self.outputs, *self.passing)


def workflow_jobs(config: Config) -> list[WorkflowJob]:
    """Return all jobs of a scale's workflow that make files, each after those that it reads from."""
    if not Path("Snakefile").is_file():
        raise KinoflowError("Snakefile: no such file; run the command in the root of the repository or project")
    stages = load_stages()
    planned = [job for job in _planned(config.scale) if job.rule.name != PAGE]
    return in_order([_described(job, stages, config) for job in planned])


def in_order(jobs: Iterable[WorkflowJob]) -> list[WorkflowJob]:
    """Return jobs that make files, each after those that it reads from, in the order in which files are read."""
    given = sorted(jobs, key=lambda job: job.files)  # first the one that makes none, and reads what is wanted
    maker = {path: job for job in given for path in job.files}
    found: dict[tuple[str, ...], WorkflowJob] = {}

    def add(job: WorkflowJob) -> None:
        for path in job.inputs:
            if path in maker and maker[path].files not in found:
                add(maker[path])
        found[job.files] = job

    for job in given:
        if job.files not in found:
            add(job)
    return [job for job in found.values() if job.files]


def _planned(scale: str) -> Iterator[Any]:
    """Yield Snakemake's jobs; nothing is run."""
    from snakemake.api import SnakemakeApi
    from snakemake.exceptions import WorkflowError
    from snakemake.settings.enums import Quietness
    from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as snakemake:
        try:
            # There is no public way to the graph itself: this is what `--dag` does before it prints.
            planned = snakemake.workflow(ResourceSettings(cores=1), ConfigSettings(config={"scale": scale}))
            planned.dag(DAGSettings(forceall=True))
            workflow = planned._workflow
            workflow._prepare_dag(forceall=True, ignore_incomplete=True, lock_warn_only=True)
            workflow._build_dag()
        except WorkflowError as error:
            raise KinoflowError(f"Snakefile: {error}") from None
        yield from workflow.dag.jobs


def _described(job: Any, stages: Mapping[str, Stage[Any]], config: Config) -> WorkflowJob:
    stage = stage_called(job.rule.shellcmd, stages)
    wildcards = dict(job.wildcards_dict)
    inputs = [str(path) for path in job.input]
    if stage is not None:  # the workflow leaves out files of the user that are missing here, but not everywhere
        needs = stage.needs(Job(config, wildcards["experiment"], wildcards.get("name", "")))
        inputs += [str(path) for need in needs for path in need.own]
    passing = tuple(str(path) for path in job.output if path in job.temp_output)
    outputs = tuple(str(path) for path in job.output if path not in job.temp_output)
    return WorkflowJob(
        job.rule.name, stage.name if stage else "", wildcards, tuple(dict.fromkeys(inputs)), outputs, passing
    )
