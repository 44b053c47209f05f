"""From jobs of the workflow to steps of DVC: which jobs run together, and what they are called."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.inspect.dvc.content import Contents
from pipeline.inspect.dvc.workflow import FETCH, WorkflowJob
from pipeline.inspect.jobs import all_jobs


@dataclass(frozen=True)
class Step:
    """One call of the workflow, as a stage of DVC.

    `label` and `experiment` make its name. If it works on a run or reference, `name` is which, and `weights` the run
    whose network that has.
    """

    label: str
    experiment: str
    content: Mapping[str, Any]
    name: str = ""
    weights: str = ""


def steps_of(config: Config, jobs: Iterable[WorkflowJob]) -> list[Step]:
    """Return the steps of a configuration: fetching first, then the experiments in their order."""
    groups = together(jobs)
    contents = Contents(config, [job for group in groups for job in group])
    known: dict[tuple[str, str], set[str]] = {}
    for stage, job in all_jobs(config):
        known.setdefault((stage.name, job.experiment), set()).add(job.name)
    steps = []
    for group in groups:
        first = group[0]
        if first.rule == FETCH:
            steps.append(Step(FETCH, first.wildcards["group"], contents.of(group)))
            continue
        experiment, name = first.wildcards["experiment"], first.wildcards.get("name", "")
        keys = dict.fromkeys(_key(job, known[job.stage, experiment]) for job in group)
        label = first.stage if name in known[first.stage, experiment] else first.rule
        run = config.experiments[experiment].runs.get(name)
        steps.append(Step(label, experiment, contents.of(group, keys), name, (run and run.weights) or name))
    order = list(config.experiments)
    return sorted(steps, key=lambda step: -1 if step.label == FETCH else order.index(step.experiment))


def together(jobs: Iterable[WorkflowJob]) -> list[list[WorkflowJob]]:
    """Return jobs in groups: with each that makes files to keep come those whose files it uses up.

    The files of one group of the catalogue, such as the splits of a data set, are fetched together.
    """
    given = list(jobs)
    readers: dict[str, list[WorkflowJob]] = {}
    for job in given:
        for path in job.inputs:
            readers.setdefault(path, []).append(job)
    groups: dict[Any, list[WorkflowJob]] = {}
    for job in given:
        last = job
        while not last.outputs:
            reading = {reader.files: reader for path in last.passing for reader in readers.get(path, ())}
            if len(reading) != 1:
                raise KinoflowError(f"rule {last.rule}: {len(reading)} jobs read its temporary files; DVC needs one")
            last = next(iter(reading.values()))
        groups.setdefault(last.wildcards["group"] if last.rule == FETCH else last.files, []).append(job)
    return list(groups.values())


def _key(job: WorkflowJob, names: set[str]) -> str:
    """Return where `jobs.json` has what a job depends on.

    A rule may make one job of a stage that has others by name: `describe_test` makes the job `test` of `describe`.
    """
    name = job.wildcards.get("name", "")
    if name not in names:
        name = job.rule.removeprefix(f"{job.stage}_")
    return ".".join([job.stage, job.wildcards["experiment"], *([name] if name else [])])
