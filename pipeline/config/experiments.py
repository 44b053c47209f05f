"""The whole configuration, its experiments, and their blocks for crystals and for codes of images.

The options of a choice are declared where it is implemented. Nothing here imports torch, so it loads fast.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from pipeline.config.base import REFERENCES, Folder, Limits, Name, Resources, RunName, Strict, check_folders
from pipeline.config.choices import (
    DataChoice,
    EnergyModelChoice,
    FigureChoice,
    ModelChoice,
    NameAlone,
    are_checked,
    problems_of_metrics,
)
from pipeline.config.fetching import Fetching
from pipeline.config.oracle import Oracle
from pipeline.config.plugins import ENERGY_MODELS
from pipeline.config.prediction import Prediction
from pipeline.config.problems import Problem, refuse
from pipeline.config.runs import Run, Sampling, Search, Sweep, Training
from pipeline.errors import did_you_mean
from pipeline.store.paper import paper_tables

TAKEN = (
    "calibration prediction protocols tokenizer classifier sweeps seeds path oracle claims"  # endings of other files
)


def _not_a_further_file(name: str) -> str:
    for ending in TAKEN.split():
        if name.endswith(f"_{ending}"):
            raise ValueError(f"names that end in _{ending} are taken by further files of an experiment; choose another")
    return name


ExperimentName = Annotated[Name, AfterValidator(_not_a_further_file)]


class Relaxation(Strict):
    """How crystals are relaxed with the energy model."""

    count: int = Field(100, ge=0, description="crystals of each run that are relaxed, from the first on")
    steps: int = Field(500, ge=1, description="most steps for one crystal")
    force: float = Field(0.1, gt=0, description="largest force, in eV/A, on an atom of a relaxed crystal")
    patience: int | None = Field(
        None, ge=1, description="steps without a new least force after which a crystal is given up; null: never"
    )
    seconds: float = Field(600, gt=0, description="most seconds for one crystal")
    batch: int = Field(1, ge=1, description="crystals a worker computes at once, for GPUs; changes the last digits")
    workers: int = Field(1, ge=1, description="processes of a job, with one thread each; they share its GPU")
    shards: int = Field(1, ge=1, le=10_000, description="jobs the crystals are spread over; does not change the result")
    resources: Resources = Field(Resources(memory_mb=4000), description="what a relaxation job asks of the machine")


class Crystals(Strict):
    """What is done with the samples of an experiment on crystals."""

    energy_model: Annotated[EnergyModelChoice, NameAlone] = Field(
        EnergyModelChoice(name="chgnet"), description="energy model that crystals are relaxed with"
    )
    judges: tuple[Annotated[EnergyModelChoice, NameAlone], ...] = Field(
        (), description="further energy models, which judge the relaxed crystals without relaxing them again"
    )
    relaxation: Relaxation = Field(Relaxation(), description="relaxation with the energy model")
    workers: int = Field(1, ge=1, description="processes of a job that describes structures")
    resources: Resources = Field(
        Resources(memory_mb=4000, minutes=240), description="what a job that describes structures asks of the machine"
    )
    seconds: float = Field(60, gt=0, description="most seconds for the fingerprints of one structure")
    hull: str | None = Field(
        None, min_length=1, description="computed entries (JSON) for the hull; null: published formation energies"
    )
    calibration: int = Field(200, ge=0, description="test structures on which energy models are compared with DFT")
    prediction: Prediction | None = Field(None, description="structure prediction, measured; null: none")

    @model_validator(mode="after")
    def _judges_differ(self) -> "Crystals":
        models = [self.energy_model, *self.judges]
        if twice := [model.name for place, model in enumerate(models) if model in models[:place]]:
            raise ValueError(f"judges: {twice[0]} is already an energy model of these crystals; name each once")
        return self

    @model_validator(mode="after")
    def _the_model_takes_batches(self, info: ValidationInfo) -> "Crystals":
        batch, name = self.relaxation.batch, self.energy_model.name
        if are_checked(info) and batch > 1 and not ENERGY_MODELS.load(name).SEVERAL:
            problem = f"the energy model {name} takes one crystal at a time; set it to 1"
            refuse([Problem(("relaxation", "batch"), batch, problem)])
        return self


class TokenizerNetwork(Strict):
    """The VQVAE that turns images into codes; each level after the first halves their sides."""

    channels: int = Field(128, ge=1, description="features of a pixel at the first level")
    multipliers: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (1, 1, 2, 2, 4), min_length=1, description="features of each level, as multiples of channels"
    )
    blocks: int = Field(2, ge=1, le=1000, description="residual blocks of a level")
    latent: int = Field(256, ge=1, description="features of a place before it is quantised")
    code_features: int = Field(8, ge=2, description="features of a code; codes have length one")
    attention: bool = Field(True, description="whether places attend to each other at the last level")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of features dropped in training")

    @property
    def down(self) -> int:
        """How many pixels wide a code is."""
        return int(2 ** (len(self.multipliers) - 1))


class TokenizerLoss(Strict):
    """What the VQVAE is trained for: images like the original, to the pixel, to a network and to a discriminator."""

    pixel: Literal["l1", "l2"] = Field("l2", description="difference of pixels: absolute or squared")
    commitment: float = Field(0.25, ge=0, description="weight of the distance of features from their codes")
    perceptual: float = Field(1.0, ge=0, description="weight of LPIPS; 0: none, and nothing is downloaded")
    perceptual_network: Literal["vgg16", "alexnet"] = Field("vgg16", description="network of LPIPS")
    adversarial: float = Field(0.5, ge=0, description="weight of the discriminator's verdict; 0: no discriminator")
    adversarial_from: int = Field(20000, ge=0, description="optimiser steps before the discriminator begins")
    discriminator_channels: int = Field(64, ge=1, description="features of the discriminator's first layer")
    discriminator_layers: int = Field(3, ge=1, le=20, description="layers of the discriminator that halve the sides")

    @property
    def files(self) -> list[str]:
        """The names in the catalogue of the files that it needs."""
        return [f"lpips/{self.perceptual_network}.ckpt"] if self.perceptual else []


class Tokenizer(Strict):
    """How images become codes."""

    network: TokenizerNetwork = Field(TokenizerNetwork(), description="the VQVAE")
    loss: TokenizerLoss = Field(TokenizerLoss(), description="what it is trained for")
    training: Training = Field(Training(), description="how it is trained; a batch is of images")


class Experiment(Strict):
    """A data set, the runs on it, and how they are scored and shown."""

    data: DataChoice = Field(description="data set")
    preparation_resources: Resources = Field(
        Resources(memory_mb=8000, minutes=120), description="what the preparation of the data asks of the machine"
    )
    tokenizer: Tokenizer | None = Field(
        None, description="how images become codes: a VQVAE that is trained first; null: no codes"
    )
    model: ModelChoice | None = Field(None, description="network of every run; null: each run names its own")
    training: Training = Field(Training(), description="training of every run")
    sampling: Sampling = Field(Sampling(), description="sampling of every run")
    sweep: tuple[Sweep, ...] = Field(
        (), description="further samples of runs under other values of sampling; one block, or a list of them"
    )
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        (), description="further seeds: each run is trained and sampled anew with each of them, as <run>_seed_<seed>"
    )
    search: Search | None = Field(None, description="a search for velocities and correctors; null: none")
    scoring: dict[Name, dict[str, Any]] = Field({}, description="metrics and their options")
    scoring_resources: Resources = Field(
        Resources(memory_mb=4000), description="what a scoring job asks of the machine"
    )
    figure: Annotated[FigureChoice, NameAlone] | None = Field(None, description="figure of the samples; null: none")
    paper: str | None = Field(None, description="label of the paper's table whose rows stand beside ours; null: none")
    crystals: Crystals | None = Field(None, description="relaxation and stability of crystals; null: no crystals")
    oracle: Oracle | None = Field(
        None, description="samplers measured with the exact posterior, for data whose distribution is known; null: none"
    )
    runs: dict[RunName, Run] = Field({}, description="the runs by name; an oracle needs none")

    @field_validator("scoring")
    @classmethod
    def _known_metrics(cls, scoring: dict[str, dict[str, Any]], info: ValidationInfo) -> dict[str, dict[str, Any]]:
        if are_checked(info):
            refuse(problems_of_metrics(scoring))
        return scoring

    @field_validator("paper")
    @classmethod
    def _known_table(cls, label: str | None, info: ValidationInfo) -> str | None:
        if label is not None and are_checked(info) and label not in paper_tables():
            refuse([Problem((), label, f"unknown table; {did_you_mean(label, paper_tables())}")])
        return label

    @model_validator(mode="after")
    def _has_runs_or_an_oracle(self) -> "Experiment":
        if not self.runs and self.oracle is None:
            refuse([Problem(("runs",), None, "there must be at least 1, or an oracle")])
        return self

    @model_validator(mode="after")
    def _trained_as_the_run_with_the_weights(self) -> "Experiment":
        for name, run in self.runs.items():
            trained = self.runs.get(run.weights or name, run)
            for key in ("path", "loss", "model", "training", "seed"):
                if getattr(run, key) != getattr(trained, key):
                    raise ValueError(f"runs.{name}.{key}: {run.weights!r} decides how it is trained; remove the key")
        return self

    @property
    def references(self) -> list[str]:
        """The names of its reference rows.

        Without runs there are none. `shuffled` is for crystals only: the order of their atoms does not matter. `images`
        is for codes only: other data sets of images hold the images themselves.
        """
        absent = {"shuffled": self.crystals is None, "images": self.tokenizer is None}
        if not self.runs:
            return []
        return [name for name in REFERENCES if not absent.get(name)]

    @property
    def seed_runs(self) -> dict[str, list[str]]:
        """The runs that `seeds` trains again, each with the names of all its trainings: its own, then the others."""
        found = {run: [run, *(f"{run}_seed_{seed}" for seed in self.seeds)] for run in self.runs}
        return {run: names for run, names in found.items() if self.seeds and self.runs.keys() >= set(names)}


class Config(Strict):
    """The whole configuration."""

    scale: Name = Field(description="name of the scale; results go to <results>/<scale>")
    seed: int = Field(0, ge=0, description="seed of every run that has none of its own")
    results: Folder = Field("results", description="directory of everything that is computed")
    data: Fetching = Field(Fetching(), description="where downloaded data come from and go to")
    limits: Limits = Field(Limits(), description="the most that a retry of a job asks of the machine")
    experiments: dict[ExperimentName, Experiment] = Field(min_length=1, description="the experiments by name")

    @model_validator(mode="after")
    def _default_folders_can_be_used(self) -> "Config":
        check_folders({("results",): self.results, ("data", "cache"): self.data.cache})
        return self
