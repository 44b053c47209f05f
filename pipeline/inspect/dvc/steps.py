"""From jobs of the workflow to steps of DVC: which jobs run together, and what DVC is told of them."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.inspect.dvc.workflow import FETCH, WorkflowJob
from pipeline.inspect.jobs import all_jobs
from pipeline.stages import load_stages
from pipeline.stages.declaration import Plot
from pipeline.stages.job import Job
from pipeline.store.places import Place

CATALOGUE = "pipeline/fetch/catalogue.py"  # what fetched files depend on
HEADLINES = "headlines"  # a figure a run, what `dvc metrics show` lists
IN_GIT = ("scores", "tables", HEADLINES)  # folders of results that are in Git, and not in the cache of DVC


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
    contents = _Contents(config, [job for group in groups for job in group])
    known: dict[tuple[str, str], set[str]] = {}
    for stage, job in all_jobs(config):
        known.setdefault((stage.name, job.experiment), set()).add(job.name)
    steps = []
    for group in groups:
        first = group[0]
        if first.rule == FETCH:
            steps.append(Step(FETCH, first.wildcards["group"], contents.of(group)))
            continue
        experiment, name = first.wildcards["experiment"], first.name
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
            (last,) = reading.values()
        groups.setdefault(last.wildcards["group"] if last.rule == FETCH else last.files, []).append(job)
    return list(groups.values())


def _key(job: WorkflowJob, names: set[str]) -> str:
    """Return where `jobs.json` has what a job depends on.

    A rule may make one job of a stage that has others by name: `describe_test` makes the job `test` of `describe`.
    """
    name = job.name if job.name in names else job.rule.removeprefix(f"{job.stage}_")
    return ".".join([job.stage, job.wildcards["experiment"], *([name] if name else [])])


class _Contents:
    """Stages of DVC for groups of the jobs of a workflow; `${to}` stands for the folder of the results."""

    def __init__(self, config: Config, jobs: Iterable[WorkflowJob]) -> None:
        self.config = config
        self.stages = load_stages()
        self.results = f"{config.results}/{config.scale}/"
        self.makers = {path: job.files for job in jobs for path in job.outputs}
        self.folders: dict[str, set[tuple[str, ...]]] = {}  # the jobs that make the files of each folder
        for path, maker in self.makers.items():
            self.folders.setdefault(str(PurePosixPath(path).parent), set()).add(maker)

    def of(self, jobs: Sequence[WorkflowJob], keys: Iterable[str] = ()) -> dict[str, Any]:
        """Return a stage of DVC for jobs that run together.

        `keys` of `jobs.json` say what they depend on besides files.
        """
        made = {path for job in jobs for path in job.files}
        read = list(dict.fromkeys(path for job in jobs for path in job.inputs if path not in made))
        deps = read if any(job.name for job in jobs) else self._folded(read)
        targets = [self._short(_kept(job.outputs[0])) for job in jobs if job.outputs]
        rules = dict.fromkeys(job.rule for job in jobs)
        content: dict[str, Any] = {
            "cmd": " ".join(["snakemake", *targets, "${call}", *rules]),
            "deps": [*map(self._short, deps), *([CATALOGUE] if FETCH in rules else [])],
            "params": [{f"${{to}}/{Place.JOBS}": list(keys)}] if keys else [],
            "outs": [],
            "metrics": [],
            "plots": [],
        }
        for job in jobs:
            declared = self.stages[job.stage].plot if job.stage else None
            plot = declared(Job(self.config, job.wildcards.get("experiment", ""), job.name)) if declared else None
            for path in map(_kept, job.outputs):
                kind, options = _shown(path, plot)
                if path.startswith(f"{self.results}{HEADLINES}/"):
                    kind = "metrics"
                if path.startswith(tuple(f"{self.results}{folder}/" for folder in IN_GIT)):
                    options = {"cache": False} | options
                content[kind].append({self._short(path): options} if options else self._short(path))
        return {key: value for key, value in content.items() if value}

    def _folded(self, paths: Sequence[str]) -> list[str]:
        """Return paths, with a folder for those of its files if something of each job that writes there is read."""
        makers = {self.makers[path] for path in paths if path in self.makers}
        whole = {folder for folder, makes in self.folders.items() if len(makes) > 1 and makes <= makers}
        parents = {path: str(PurePosixPath(path).parent) for path in paths}
        return list(dict.fromkeys(parents[path] if parents[path] in whole else path for path in paths))

    def _short(self, path: str) -> str:
        return f"${{to}}/{path.removeprefix(self.results)}" if path.startswith(self.results) else path


def _shown(path: str, plot: Plot | None) -> tuple[str, dict[str, Any]]:
    """Return whether a file is an output or a plot, and how it is plotted."""
    ending = PurePosixPath(path).suffix
    if plot is None or ending not in (".csv", ".png"):
        return "outs", {}
    if ending == ".png":
        return "plots", {}
    said = {"template": plot.template, "x": plot.x, "y": plot.y, "title": plot.title}
    return "plots", {key: value for key, value in said.items() if value}


def _kept(path: str) -> str:
    """Return a path that DVC can keep: below the repository, and plain text for a shell."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or shlex.quote(path) != path:
        raise KinoflowError(
            f"{path}: DVC keeps files below the repository with plain names; change `results` or `data.cache`"
        )
    return path
