"""A job: the experiment, and the run or reference, that a stage works on, and what its configuration chooses by name.

What several stages ask stands here: a stage that imports another would depend on all code of that one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.config import Choice, Config, Crystals, Experiment, Oracle, Run, Tokenizer, VelocityChoice
from pipeline.config.choices import SchemeChoice
from pipeline.config.contracts import DataSetPlugin, EnergyModelPlugin, JudgedMetricPlugin, MetricPlugin
from pipeline.config.plugins import DATASETS, ENERGY_MODELS, METRICS, MODELS, Chosen
from pipeline.errors import KinoflowError
from pipeline.store.code import constant_of, modules_named
from pipeline.store.provenance import write_provenance


@dataclass(frozen=True)
class Need:
    """What a job needs from outside the workflow, and the key of the configuration that asks for it.

    `fetched` are names in the catalogue, `own` the user's files and folders, `hub` names on the Hugging Face Hub,
    `packages` requirements such as `orb-models>=0.5,<0.6`.
    """

    key: str
    fetched: tuple[str, ...] = ()
    own: tuple[Path, ...] = ()
    hub: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    gpus: int = 0
    nodes: int = 1

    @classmethod
    def of(cls, key: str, chosen: Chosen[Any]) -> "Need":
        """Return what a plugin needs."""
        return cls(key, tuple(chosen.files), tuple(chosen.inputs), tuple(chosen.hub_names))


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
    def oracle(self) -> Oracle:
        """The samplers that are measured; an experiment without any is an error."""
        if self.block.oracle is None:
            raise KinoflowError(f"experiments.{self.experiment}.oracle is null; choose an experiment with an oracle")
        return self.block.oracle

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

    @property
    def images(self) -> Any:
        """The choice of images, without its number of threads: they do not change the images."""
        said = self.block.data.options["images"]
        return {key: value for key, value in said.items() if key != "workers"} if isinstance(said, dict) else said

    @property
    def searched_velocities(self) -> tuple[VelocityChoice, ...]:
        """The velocities that the search of an experiment chooses from."""
        return self.block.search.velocity if self.block.search else ()

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

    def of_crystals(self) -> bool:
        """Return whether the data are crystals."""
        return self.block.crystals is not None

    def has_judges(self) -> bool:
        """Return whether further energy models judge the crystals."""
        return self.of_crystals() and bool(self.crystals.judges)

    def of_codes(self) -> bool:
        """Return whether a tokenizer makes the tokens."""
        return self.block.tokenizer is not None

    def judging_run(self) -> str | None:
        """Return the run whose network judges the samples of the others; None: no run does."""
        return next((run for run in self._judges() if run is not None), None)

    def judged_from_outside(self) -> bool:
        """Return whether the judge is a language model from outside the experiment."""
        return any(run is None for run in self._judges())

    def trains_classifier(self) -> bool:
        """Return whether the workflow trains a classifier to compare images."""
        return any(metric.plugin.classifier_of(metric.options) for metric in self.metrics)

    def metric_modules(self) -> list[str]:
        """Return the modules of the metrics, and those that their options choose."""
        return [*map(METRICS.module, self.block.scoring), *self.metric_choices()]

    def headline(self) -> str:
        """Return the column that says most, that of the first metric that names one; "" if none does."""
        named = (str(constant_of(METRICS.module(name), "HEADLINE", "")) for name in self.block.scoring)
        return next(filter(None, named), "")

    def metric_choices(self) -> list[str]:
        """Return the modules that the options of the metrics choose, such as the features of images."""
        return [name for metric in self.metrics for name in metric.modules[1:]]

    def path_modules(self) -> list[str]:
        """Return the modules of the path and loss of a run; none for a reference."""
        return modules_named(self.run.path, self.run.loss) if self.is_run else []

    def network_modules(self, *chosen: VelocityChoice | SchemeChoice) -> list[str]:
        """Return the modules of the network, path and loss of a run, and of velocities and schemes."""
        return [MODELS.module(self.run.model.name), *self.path_modules(), *modules_named(*chosen)]

    def data_needs(self) -> list[Need]:
        """Return what the data set is made from."""
        return [Need.of(f"experiments.{self.experiment}.data", self.data)]

    def metric_needs(self) -> list[Need]:
        """Return what the metrics measure with."""
        return [Need.of(f"experiments.{self.experiment}.scoring.{metric.name}", metric) for metric in self.metrics]

    def energy_models(self) -> list[Chosen[EnergyModelPlugin]]:
        """Return the energy model that relaxes the crystals, and those that judge them."""
        return [ENERGY_MODELS.chosen(choice) for choice in (self.crystals.energy_model, *self.crystals.judges)]

    def energy_model_names(self) -> list[str]:
        """Return what the tables of reference energies are called, of the energy model and the judges."""
        chosen = [(one, one.plugin.variant(one.options)) for one in self.energy_models()]
        return [f"{one.name}_{variant}" if variant else one.name for one, variant in chosen]

    def energy_model_needs(self) -> list[Need]:
        """Return what each of them needs."""
        keys = ["energy_model", *(f"judges.{place}" for place in range(len(self.crystals.judges)))]
        needs = []
        for key, chosen in zip(keys, self.energy_models(), strict=True):
            need = Need.of(f"experiments.{self.experiment}.crystals.{key}", chosen)
            needs.append(replace(need, packages=(chosen.plugin.requirement,)))
        return needs

    def energy_model_modules(self) -> list[str]:
        """Return the modules of the energy model and the judges."""
        return [module for chosen in self.energy_models() for module in chosen.modules]

    def files_of(self, *chosen: Chosen[Any]) -> list[Path]:
        """Return the files that plugins read: fetched ones, and the user's own."""
        fetched = [self.cache / name for one in chosen for name in one.files]
        return fetched + [path for one in chosen for path in one.inputs]

    def scoring_settings(self) -> dict[str, Any]:
        """Return what scores depend on besides the samples."""
        return {"scoring": self.block.scoring}

    def description_settings(self) -> dict[str, Any]:
        """Return what descriptions of crystals depend on besides the crystals."""
        return {"seconds": self.crystals.seconds}

    def comparison(self, *keys: str) -> dict[str, Any]:
        """Return the configured options for comparing images; None for an option that is not set."""
        said = self.block.scoring.get("frechet_distance", {})
        return {key: said.get(key) for key in keys}

    def record(
        self, written: Iterable[Path], said: Mapping[str, Any], inputs: Iterable[Path | None], seed: int | None = None
    ) -> None:
        """Write the provenance of files; without a `seed`, it is the configuration's. Inputs may be None: not given."""
        seed = self.config.seed if seed is None else seed
        write_provenance(written, said, seed, [path for path in inputs if path is not None])

    def _data_say(self, flag: str) -> bool:
        """Return a constant of the data set's module, without importing the module."""
        return bool(constant_of(DATASETS.module(self.block.data.name), flag, False))

    def _judges(self) -> list[str | None]:
        judged = [(metric.plugin, metric.options) for metric in self.metrics]
        return [plugin.run_of(options) for plugin, options in judged if isinstance(plugin, JudgedMetricPlugin)]


class RunJob(Job):
    """A job on a run; its command takes `--run`."""
