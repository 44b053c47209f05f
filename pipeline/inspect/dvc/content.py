"""What DVC is told of a step: its call of the workflow, and what goes in and comes out."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.inspect.dvc.workflow import FETCH, WorkflowJob
from pipeline.stages import load_stages
from pipeline.stages.declaration import Plot
from pipeline.stages.job import Job
from pipeline.store.places import Place

CATALOGUE = "pipeline/fetch/catalogue.py"  # what fetched files depend on
IN_GIT = ("scores", "tables")  # folders of results that are in Git, and not in the cache of DVC


class Contents:
    """Stages of DVC for groups of the jobs of a workflow; `${to}` stands for the folder of the results."""

    def __init__(self, config: Config, jobs: Iterable[WorkflowJob]) -> None:
        self.config = config
        self.stages = load_stages()
        self.results = f"{config.results}/{config.scale}"
        self.makers = {path: job.files for job in jobs for path in job.outputs}
        self.folders: dict[str, set[tuple[str, ...]]] = {}  # the jobs that make the files of each folder
        for path, maker in self.makers.items():
            self.folders.setdefault(str(PurePosixPath(path).parent), set()).add(maker)

    def of(self, jobs: Sequence[WorkflowJob], keys: Iterable[str] = ()) -> dict[str, Any]:
        """Return a stage of DVC for jobs that run together.

        `keys` of `jobs.json` say what they depend on besides files.
        """
        made = {path for job in jobs for path in job.files}
        read = dict.fromkeys(path for job in jobs for path in job.inputs if path not in made)
        deps = list(read) if any("name" in job.wildcards for job in jobs) else self._folded(list(read))
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
            plot = self._plot(job)
            for path in map(_kept, job.outputs):
                kind, options = _shown(path, plot)
                if path.startswith(tuple(f"{self.results}/{folder}/" for folder in IN_GIT)):
                    options = {"cache": False} | options
                content[kind].append({self._short(path): options} if options else self._short(path))
        return {key: value for key, value in content.items() if value}

    def _folded(self, paths: Sequence[str]) -> list[str]:
        """Return paths, with a folder for those of its files if something of each job that writes there is read."""
        makers = {self.makers[path] for path in paths if path in self.makers}
        whole = {folder for folder, makes in self.folders.items() if len(makes) > 1 and makes <= makers}
        parents = {path: str(PurePosixPath(path).parent) for path in paths}
        return list(dict.fromkeys(parents[path] if parents[path] in whole else path for path in paths))

    def _plot(self, job: WorkflowJob) -> Plot | None:
        declared = self.stages[job.stage].plot if job.stage else None
        names = (job.wildcards.get("experiment", ""), job.wildcards.get("name", ""))
        return declared(Job(self.config, *names)) if declared else None

    def _short(self, path: str) -> str:
        return "${to}" + path.removeprefix(self.results) if path.startswith(f"{self.results}/") else path


def _shown(path: str, plot: Plot | None) -> tuple[str, dict[str, Any]]:
    """Return whether a file is an output, metrics or a plot, and how it is plotted."""
    ending = PurePosixPath(path).suffix
    if plot is None or ending not in (".json", ".csv", ".png"):
        return "outs", {}
    if ending == ".json":
        return "metrics", {}
    said = {"template": plot.template, "x": plot.x, "y": plot.y, "title": plot.title}
    return "plots", {key: value for key, value in said.items() if value and ending == ".csv"}


def _kept(path: str) -> str:
    """Return a path that DVC can keep: below the repository, and plain text for a shell."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or shlex.quote(path) != path:
        raise KinoflowError(
            f"{path}: DVC keeps files below the repository with plain names; change `results` or `data.cache`"
        )
    return path
