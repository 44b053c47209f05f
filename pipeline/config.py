"""The configuration: one frozen, typed tree; every key that is unknown, of a wrong type or impossible is an error.

What the parts called "choice" take besides their name is declared where they are implemented (a path, a model, a data
set, ...); :mod:`pipeline.choices` checks them. This module imports no torch, so that it loads at once.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

REFERENCES = {
    "data": "data (ceiling)",
    "independent": "independent columns (null)",
    "shuffled": "independent columns, shuffled atoms (null)",
}

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


def _not_a_calibration(name: str) -> str:
    if name.endswith("_calibration"):
        raise ValueError("names that end in _calibration are taken by the calibration tables; choose another")
    return name


def _not_a_reference(name: str) -> str:
    if name in REFERENCES:
        raise ValueError("the name is taken by a reference row of the tables; choose another")
    return name


ExperimentName = Annotated[Name, AfterValidator(_not_a_calibration)]
RunName = Annotated[Name, AfterValidator(_not_a_reference)]


def _sha256(digits: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", digits):
        raise ValueError("must be a SHA-256 of 64 lower-case hexadecimal digits")
    return digits


Checksum = Annotated[str, AfterValidator(_sha256), Field(json_schema_extra={"pattern": "^[0-9a-f]{64}$"})]
Source = Literal["embedded", "package", "address", "mirror"]


class Strict(BaseModel):
    """The base of every part of the configuration; nothing is converted, nothing is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Choice(BaseModel):
    """A named implementation and its options."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    name: str = Field(description="which implementation")

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given beside the name."""
        return dict(self.model_extra or {})


class DataChoice(Choice):
    """A data set: a file in `pipeline/data`."""


class ModelChoice(Choice):
    """A network: a file in `pipeline/models`."""


class FigureChoice(Choice):
    """A figure: a file in `pipeline/report/figures`."""


class PathChoice(Choice):
    """A probability path and its options."""


class LossChoice(Choice):
    """A training loss and its options."""


class VelocityChoice(Choice):
    """A velocity and its options."""


class StepChoice(Choice):
    """A kind of sampling step."""


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


NameAlone = BeforeValidator(_named)  # lets `loss: cross_entropy` stand for `loss: {name: cross_entropy}`


class Resources(Strict):
    """What one job asks of the machine."""

    gpus: int = Field(0, ge=0, description="GPUs of the job; 0 computes on the CPU")
    memory_mb: int = Field(2000, ge=1, description="memory limit in megabytes")
    minutes: int = Field(60, ge=1, description="time limit")


class Training(Strict):
    """How a network is trained."""

    steps: int = Field(1000, ge=1, description="optimiser steps")
    batch: int = Field(128, ge=1, description="sequences in one optimiser step, over all devices")
    accumulate: int = Field(1, ge=1, description="parts a batch is computed in, one after the other, to save memory")
    learning_rate: float = Field(1e-3, gt=0, description="step size of AdamW after the warm-up")
    warmup: int = Field(0, ge=0, description="steps in which the learning rate rises linearly from zero")
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = Field(
        (0.9, 0.999), description="AdamW's decay rates of the first and second moment"
    )
    weight_decay: float = Field(0.0, ge=0, description="AdamW's weight decay")
    gradient_clip: float | None = Field(1.0, gt=0, description="largest norm of the gradient; null: no limit")
    ema: float = Field(0.999, ge=0, lt=1, description="decay of the moving average of the weights; 0: the last weights")
    time_end: float = Field(0.999, gt=0, lt=1, description="times of training are drawn from [0, time_end)")
    precision: Literal["32-true", "bf16-mixed"] = Field("32-true", description="arithmetic of the network")
    log_every: int = Field(100, ge=1, description="steps between two lines of the training history")
    validate_every: int = Field(500, ge=1, description="steps between two validations")
    checkpoint_every: int = Field(500, ge=1, description="steps between two checkpoints")
    resources: Resources = Field(Resources(), description="what a training job asks of the machine")

    @model_validator(mode="after")
    def _parts_of_equal_size(self) -> "Training":
        parts = self.accumulate * max(1, self.resources.gpus)
        if self.batch % parts:
            raise ValueError(f"batch ({self.batch}) must be a multiple of accumulate times resources.gpus ({parts})")
        return self


class Corrector(Strict):
    """How much of the probability-preserving velocity is added: w(t) = weight t^rise (1 - t)^fall."""

    weight: float = Field(ge=0, description="strength; 0: no corrector")
    rise: float = Field(1.0, ge=0, description="power of t")
    fall: float = Field(0.0, ge=0, description="power of 1 - t")
    limit: float = Field(0.5, gt=0, description="most jumps of the corrector in one step")


class Sampling(Strict):
    """How samples are drawn."""

    count: int = Field(1000, ge=1, description="number of samples")
    steps: int = Field(64, ge=1, description="steps from the source to data; each is one network evaluation")
    velocity: Annotated[VelocityChoice, NameAlone] = Field(
        VelocityChoice(name="kinetic_optimal"), description="velocity that follows the path"
    )
    step: Annotated[StepChoice, NameAlone] = Field(StepChoice(name="exact"), description="kind of step")
    temperature: float = Field(1.0, gt=0, description="divides the logits of the posterior")
    corrector: Corrector | None = Field(None, description="a corrector; null: none")
    block: int = Field(1000, ge=1, description="samples drawn at once; each block has its own seed")
    shards: int = Field(1, ge=1, description="jobs the blocks are spread over; does not change the samples")
    frames: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        (), description="times at which the tokens on their way are kept for figures"
    )
    resources: Resources = Field(Resources(), description="what a sampling job asks of the machine")


class Sweep(Strict):
    """Values of sampling under which every run draws further samples, each value for itself."""

    steps: tuple[Annotated[int, Field(ge=1)], ...] = Field((), description="numbers of steps, of runs with a path")
    temperature: tuple[Annotated[float, Field(gt=0)], ...] = Field((), description="temperatures")


class Run(Strict):
    """One trained network and its samples; all but the path, the loss and the seed is taken from the experiment."""

    path: PathChoice | None = Field(description="probability path; null: autoregressive, one token after the other")
    loss: Annotated[LossChoice, NameAlone] | None = Field(
        None, description="training loss; that of an autoregressive run is the cross-entropy of the next token"
    )
    weights: RunName | None = Field(
        None, description="run whose network draws these samples, under the sampling of this one; null: its own"
    )
    seed: int = Field(0, ge=0, description="seed of the run; the configuration's own unless given")
    model: ModelChoice = Field(description="changes to the experiment's network")
    training: Training = Field(Training(), description="changes to the experiment's training")
    sampling: Sampling = Field(Sampling(), description="changes to the experiment's sampling")

    @model_validator(mode="after")
    def _a_loss_belongs_to_a_path(self) -> "Run":
        if self.path is None and self.loss is not None:
            raise ValueError("loss: an autoregressive run (path: null) has its own; remove the key")
        if self.path is not None and self.loss is None:
            raise ValueError("loss: required key is missing; name the loss that the path is trained with")
        return self


class Relaxation(Strict):
    """How crystals are relaxed with CHGNet."""

    count: int = Field(100, ge=0, description="crystals of each run that are relaxed, from the first on")
    steps: int = Field(500, ge=1, description="most steps for one crystal")
    force: float = Field(0.1, gt=0, description="largest force, in eV/A, on an atom of a relaxed crystal")
    seconds: float = Field(600, gt=0, description="most seconds for one crystal")
    workers: int = Field(1, ge=1, description="processes of a job, with one thread each")
    shards: int = Field(1, ge=1, description="jobs the crystals are spread over; does not change the result")
    resources: Resources = Field(Resources(memory_mb=4000), description="what a relaxation job asks of the machine")


class Crystals(Strict):
    """What is done with the samples of an experiment on crystals."""

    relaxation: Relaxation = Field(Relaxation(), description="relaxation with CHGNet")
    workers: int = Field(1, ge=1, description="processes of a job that describes structures")
    seconds: float = Field(60, gt=0, description="most seconds for the fingerprints of one structure")
    hull: str | None = Field(
        None, min_length=1, description="computed entries (JSON) for the hull; null: published formation energies"
    )
    calibration: int = Field(200, ge=0, description="test structures on which CHGNet is compared with DFT")


class Experiment(Strict):
    """A data set, the runs on it, and how they are scored and shown."""

    data: DataChoice = Field(description="data set")
    preparation_resources: Resources = Field(
        Resources(memory_mb=8000, minutes=120), description="what the preparation of the data asks of the machine"
    )
    model: ModelChoice = Field(description="network of every run")
    training: Training = Field(Training(), description="training of every run")
    sampling: Sampling = Field(Sampling(), description="sampling of every run")
    sweep: Sweep = Field(Sweep(), description="further samples of every run under other values of sampling")
    scoring: dict[Name, dict[str, Any]] = Field(description="metrics and their options")
    scoring_resources: Resources = Field(
        Resources(memory_mb=4000), description="what a scoring job asks of the machine"
    )
    figure: Annotated[FigureChoice, NameAlone] | None = Field(None, description="figure of the samples; null: none")
    paper: str | None = Field(None, description="label of the paper's table whose rows stand beside ours; null: none")
    crystals: Crystals | None = Field(None, description="relaxation and stability of crystals; null: no crystals")
    runs: dict[RunName, Run] = Field(min_length=1, description="the runs by name")

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
        """The names of its reference rows; only the atoms of crystals can be shuffled without changing the data."""
        return [name for name in REFERENCES if name != "shuffled" or self.crystals is not None]


class Fetching(Strict):
    """Where downloaded data come from and go to."""

    cache: str = Field("data/cache", min_length=1, description="directory of verified files")
    order: tuple[Source, ...] = Field(
        ("embedded", "package", "address", "mirror"), min_length=1, description="kinds of sources, tried in this order"
    )
    mirror: str | None = Field(None, min_length=1, description="directory that holds copies; null: $KINOFLOW_MIRROR")
    checksums: dict[str, Checksum] = Field(
        {}, description="SHA-256 by file, such as mp20/train.csv, for files of which the catalogue has none"
    )


class Config(Strict):
    """The whole configuration."""

    scale: Name = Field(description="name of the scale; results go to <results>/<scale>")
    seed: int = Field(0, ge=0, description="seed of every run that has none of its own")
    results: str = Field("results", min_length=1, description="directory of everything that is computed")
    data: Fetching = Field(Fetching(), description="where downloaded data come from and go to")
    experiments: dict[ExperimentName, Experiment] = Field(min_length=1, description="the experiments by name")
