"""A job: the experiment, and the run or reference, that a stage works on."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.config import Choice, Config, Crystals, Experiment, Run, Tokenizer
from pipeline.config.contracts import DataSetPlugin, MetricPlugin
from pipeline.config.plugins import DATASETS, METRICS, Chosen
from pipeline.errors import KinoflowError
from pipeline.store.code import constant_of


@dataclass(frozen=True)
class Job:
    """An experiment of a configuration and, for stages that work on one, the `name` of a run or reference."""

    config: Config
    experiment: str
    name: str = ""

    @property
    def block(self) -> Experiment:
        """The experiment."""
        return self.config.experiments[self.experiment]

    @property
    def results(self) -> Path:
        """The folder of the scale's results."""
        return Path(self.config.results) / self.config.scale

    @property
    def cache(self) -> Path:
        """The folder of fetched files."""
        return Path(self.config.data.cache)

    @property
    def run(self) -> Run:
        """The run of this name."""
        return self.block.runs[self.name]

    @property
    def is_run(self) -> bool:
        """Whether the name is that of a run, not of a reference."""
        return self.name in self.block.runs

    @property
    def crystals(self) -> Crystals:
        """The configuration of the experiment's crystals; an experiment without any is an error."""
        if self.block.crystals is None:
            raise KinoflowError(f"experiments.{self.experiment}.crystals is null; choose an experiment on crystals")
        return self.block.crystals

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the experiment's images; an experiment without one is an error."""
        if self.block.tokenizer is None:
            raise KinoflowError(f"experiments.{self.experiment}.tokenizer is null; choose an experiment on codes")
        return self.block.tokenizer

    @property
    def is_text(self) -> bool:
        """Whether the data are text."""
        return self._data_say("TEXT")

    @property
    def is_images(self) -> bool:
        """Whether the data are images, as pixels or as codes."""
        return self._data_say("IMAGES")

    @property
    def data(self) -> Chosen[DataSetPlugin]:
        """The data set."""
        return DATASETS.chosen(self.block.data)

    @property
    def metrics(self) -> list[Chosen[MetricPlugin]]:
        """The metrics."""
        return [METRICS.chosen(Choice(name=name, **options)) for name, options in self.block.scoring.items()]

    def runs(self) -> Iterator["Job"]:
        """Yield a job for each run."""
        yield from (replace(self, name=name) for name in self.block.runs)

    def references(self) -> Iterator["Job"]:
        """Yield a job for each reference."""
        yield from (replace(self, name=name) for name in self.block.references)

    def rows(self) -> Iterator["Job"]:
        """Yield a job for each row of the experiment's table: its runs, then its references."""
        yield from self.runs()
        yield from self.references()

    def _data_say(self, flag: str) -> bool:
        """Return a constant of the data set's module, without importing the module."""
        return bool(constant_of(DATASETS.module(self.block.data.name), flag, False))


class RunJob(Job):
    """A job on a run; its command takes `--run`."""
