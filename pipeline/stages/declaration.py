"""How a stage is declared: one function and what its jobs depend on. The signature of the function is its command.

    @stage(settings=settings, resources="scoring_resources", each=Job.rows)
    def score(job: Job, *, samples: Input, output: Output) -> None:
        ...

The declaration gives the command with its flags and help, the settings, code and resources of the rule, what preflight
looks for, how many jobs `plan` counts, the DVC stage, and the fingerprint of unfinished work. The function does its own
imports, so that the declaration can be read without torch.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec

from pipeline.config import Resources, TrainingResources
from pipeline.stages.job import Job, Need
from pipeline.store.code import code_hash
from pipeline.store.provenance import fingerprint

P = ParamSpec("P")


@dataclass(frozen=True)
class Plot:
    """How DVC plots what a stage writes: which columns of its table, and by which of DVC's templates.

    A picture is shown as it is, by `Plot()`.
    """

    x: str = ""
    y: str = ""
    title: str = ""
    template: str = ""


LOSSES = Plot(x="step", y="loss")  # of a training
ON_CRYSTALS = {"resources": "crystals.resources", "workers": "crystals.workers", "when": Job.of_crystals}


@dataclass(frozen=True)
class Stage(Generic[P]):
    """A function and its declaration; calling the stage calls the function.

    `settings` is the part of the configuration that a job depends on. `chosen` are the modules of the plugins that it
    runs. `resources` and `workers` are keys of the experiment, such as `runs.{name}.sampling.resources`. With `one_gpu`
    a job uses at most one GPU. `each` yields the possible jobs of an experiment, `when` says which of them are run, and
    `count` how many shards each has. `needs` is what a job needs from outside the workflow.
    """

    function: Callable[P, None]
    settings: Callable[[Job], Mapping[str, Any]] | None = None
    chosen: Callable[[Job], Iterable[str]] = lambda job: ()
    resources: str | None = None
    workers: str | None = None
    one_gpu: bool = False
    each: Callable[[Job], Iterable[Job]] = lambda job: [job]
    when: Callable[[Job], bool] = lambda job: True
    count: Callable[[Job], int] = lambda job: 1
    needs: Callable[[Job], Iterable[Need]] = lambda job: ()
    plot: Callable[[Job], Plot] | None = None

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> None:
        self.function(*arguments, **options)

    @property
    def name(self) -> str:
        """The name of the stage, as rules spell it."""
        return self.function.__name__

    @property
    def module(self) -> str:
        """The module that declares it."""
        return self.function.__module__

    def jobs(self, experiment: Job) -> Iterator[tuple[Job, int]]:
        """Yield the jobs of an experiment, each with its number of shards."""
        for job in self.each(experiment):
            if self.when(job):
                yield job, self.count(job)

    def settings_text(self, job: Job) -> str:
        """Return the part of the configuration that a job depends on, as text.

        It leaves out resources, and what earlier stages depend on: that changes the files they make.
        """
        return json.dumps(self.settings(job) if self.settings else {}, sort_keys=True)

    def code(self, job: Job) -> str:
        """Return a hash of the code that a job runs, including the plugins that its configuration names."""
        return code_hash(self.module, *self.chosen(job))

    def fingerprint(self, job: Job, inputs: Iterable[Path], without: Collection[str] = ()) -> str:
        """Return a hash of all that unfinished work depends on: settings, inputs and code.

        Keys in `without`, such as `training.steps`, are left out: work can resume if these change.
        """
        settings = json.loads(self.settings_text(job))
        for key in without:
            *outer, last = key.split(".")
            block = settings
            for part in outer:
                block = block[part]
            block.pop(last)
        known = {"experiment": job.experiment, "name": job.name, "settings": settings}
        return fingerprint(known, inputs, self.code(job))

    def resources_key(self, job: Job) -> str:
        """Return the key of the configuration that says what a job asks of the machine."""
        return f"experiments.{job.experiment}.{self.resources}".format(name=job.name)

    def resources_of(self, job: Job) -> Resources:
        """Return what a job asks of the machine."""
        found: Resources = _value(job, self.resources) if self.resources else Resources()
        return (
            Resources(**found.model_dump(exclude={"gpus", "nodes"}), gpus=min(1, found.gpus)) if self.one_gpu else found
        )

    def nodes(self, job: Job) -> int:
        """Return how many nodes a job runs on."""
        asked = self.resources_of(job)
        return asked.nodes if isinstance(asked, TrainingResources) else 1

    def threads(self, job: Job) -> int:
        """Return how many processes a job computes with: its workers, or one for each GPU."""
        return int(_value(job, self.workers)) if self.workers else max(1, self.resources_of(job).gpus)

    def needs_of(self, job: Job) -> Iterator[Need]:
        """Yield what a job needs: the declared needs, and the GPUs and nodes that it asks for."""
        yield from self.needs(job)
        if self.resources:
            asked = self.resources_of(job)
            yield Need(f"{self.resources_key(job)}.gpus", gpus=asked.gpus)
            yield Need(f"{self.resources_key(job)}.nodes", nodes=self.nodes(job))


def stage(**declared: Any) -> Callable[[Callable[P, None]], Stage[P]]:
    """Return a decorator that turns a function into a stage; see :class:`Stage` for what can be declared."""

    def declare(function: Callable[P, None]) -> Stage[P]:
        return Stage(function, **declared)

    return declare


def _value(job: Job, key: str) -> Any:
    """Return the value of a key of the experiment, such as `runs.{name}.sampling.resources`."""
    value: Any = job.block
    for part in key.split("."):
        value = value[part.format(name=job.name)] if isinstance(value, dict) else getattr(value, part)
    return value
