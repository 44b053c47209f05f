"""The configuration of one run: how a network is trained, and how it draws samples."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.base import Resources, RunName, Strict, TrainingResources
from pipeline.config.choices import (
    CorrectorChoice,
    GridChoice,
    LossChoice,
    ModelChoice,
    NameAlone,
    PathChoice,
    SchemeChoice,
    StepChoice,
    VelocityChoice,
)

Precision = Literal["auto", "32-true", "tf32", "bf16-mixed"]


class Training(Strict):
    """How a network is trained."""

    steps: int = Field(1000, ge=1, le=10**9, description="optimiser steps")
    batch: int = Field(128, ge=1, le=10**9, description="sequences in one optimiser step, over all devices")
    parts: int = Field(
        1, ge=1, description="parts a batch is computed in, shared by the devices; each has noise of its own"
    )
    batches: Literal["shuffled", "similar_size"] = Field(
        "shuffled",
        description="which rows are in one part of a batch: any, or those of similar length, without their pads, if "
        "the network can do without them",
    )
    learning_rate: float = Field(1e-3, gt=0, description="step size of AdamW after the warm-up")
    warmup: int = Field(0, ge=0, description="steps in which the learning rate rises linearly from zero")
    decay: Literal["none", "linear", "cosine"] = Field(
        "none", description="how the learning rate falls to zero from the warm-up to the last step"
    )
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = Field(
        (0.9, 0.999), description="AdamW's decay rates of the first and second moment"
    )
    weight_decay: float = Field(0.0, ge=0, description="AdamW's weight decay")
    gradient_clip: float | None = Field(1.0, gt=0, description="largest norm of the gradient; null: no limit")
    ema: float = Field(0.999, ge=0, lt=1, description="decay of the moving average of the weights; 0: the last weights")
    time_end: float = Field(0.999, gt=0, lt=1, description="times of training are drawn from [0, time_end)")
    class_drop: float = Field(
        0.1, ge=0, le=1, description="share of the sequences whose class a network is not told, for guidance"
    )
    precision: Precision = Field(
        "32-true",
        description="arithmetic of the network; auto: on GPUs the faster of tf32 and bf16-mixed, by a few steps before "
        "training; on CPUs, and GPUs that know neither, 32-true",
    )
    compile: bool | Literal["auto"] = Field(
        False,
        description="whether torch.compile translates the network before training; auto: on one GPU, if a few steps "
        "are faster with it",
    )
    log_every: int = Field(100, ge=1, description="steps between two lines of the training history")
    validate_every: int = Field(500, ge=1, description="steps between two validations")
    checkpoint_every: int = Field(500, ge=1, description="steps between two checkpoints")
    resources: TrainingResources = Field(TrainingResources(), description="what a training job asks of the machine")

    @property
    def can_grow(self) -> bool:
        """Whether a training with more steps begins with the same steps, and so can go on from these."""
        return self.decay == "none"

    @model_validator(mode="after")
    def _parts_of_equal_size(self) -> "Training":
        if self.batch % self.parts:
            raise ValueError(f"batch ({self.batch}) must be a multiple of parts ({self.parts})")
        if self.parts % self.resources.devices:
            devices = f"the {self.resources.devices} devices of resources (gpus on each of nodes)"
            raise ValueError(f"parts ({self.parts}) must be a multiple of {devices}; set parts to that, or to more")
        return self


class Corrector(Strict):
    """Jumps after each step that keep to the path, at a weight w(t) = weight t^rise (1 - t)^fall."""

    kind: Annotated[CorrectorChoice, NameAlone] = Field(
        CorrectorChoice(name="velocity"),
        description="velocity: w times the symmetric rates of the velocity; refresh: a share w of the tokens is drawn "
        "anew; remask: a share w of the tokens at x1 goes back to the source (ReMDM)",
    )
    weight: float = Field(ge=0, description="strength; 0: no corrector")
    rise: float = Field(1.0, ge=0, description="power of t")
    fall: float = Field(0.0, ge=0, description="power of 1 - t")
    limit: float = Field(0.5, gt=0, le=1, description="most jumps of the corrector in one step")


class Sampling(Strict):
    """How samples are drawn."""

    count: int = Field(1000, ge=1, le=10**9, description="number of samples")
    steps: int = Field(64, ge=1, le=10**6, description="steps from the source to data (NFE)")
    velocity: Annotated[VelocityChoice, NameAlone] = Field(
        VelocityChoice(name="kinetic_optimal"), description="velocity that follows the path"
    )
    step: Annotated[StepChoice, NameAlone] = Field(StepChoice(name="exact"), description="kind of step")
    scheme: Annotated[SchemeChoice, NameAlone] = Field(
        SchemeChoice(name="plain"), description="how a step uses the network"
    )
    grid: Annotated[GridChoice, NameAlone] = Field(
        GridChoice(name="uniform"), description="where the steps end: at equal distances, or chosen for the path"
    )
    temperature: float = Field(1.0, ge=1e-4, le=1e4, description="divides the logits of the posterior")
    top_k: int | None = Field(None, ge=1, description="draw among the likeliest k tokens only; null: among all")
    top_p: float | None = Field(
        None, gt=0, le=1, description="draw among the fewest tokens whose probability reaches p; null: among all"
    )
    guidance: float = Field(
        1.0, ge=0, le=1e4, description="scale of classifier-free guidance, of networks that are told classes; 1: none"
    )
    corrector: Corrector | None = Field(None, description="a corrector; null: none")
    redraws: int = Field(
        0,
        ge=0,
        le=10_000,
        description="most rounds in which tokens that contradict others, as the network finds, are drawn anew",
    )
    way: Literal["auto", "events", "steps"] = Field(
        "auto",
        description="events: ask the network only where a token may jump, on mixture paths; steps: in every step; "
        "auto: events where possible. The law of the samples is the same",
    )
    searched: bool = Field(False, description="take what the search found")
    block: int = Field(1000, ge=1, le=10**9, description="samples drawn at once; each block has its own seed")
    shards: int = Field(1, ge=1, le=10_000, description="jobs the blocks are spread over; does not change the samples")
    frames: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        (), description="times at which the tokens on their way are kept for figures"
    )
    resources: Resources = Field(Resources(), description="what a sampling job asks of the machine")

    def numbers(self, block: int) -> range:
        """Return the numbers of the samples of a block."""
        return range(block * self.block, min(self.count, (block + 1) * self.block))


class Sweep(Strict):
    """Values of sampling under which runs draw further samples, in all combinations."""

    runs: tuple[RunName, ...] | None = Field(None, min_length=1, description="which runs; null: all")
    steps: tuple[Annotated[int, Field(ge=1, le=10**6)], ...] = Field(
        (), description="numbers of steps, of runs with a path"
    )
    velocity: tuple[Annotated[VelocityChoice, NameAlone], ...] = Field(
        (), description="velocities, of runs with a path"
    )
    step: tuple[Annotated[StepChoice, NameAlone], ...] = Field((), description="kinds of step, of runs with a path")
    corrector: tuple[Annotated[float, Field(ge=0)] | Corrector, ...] = Field(
        (), description="correctors, each a weight or all of its numbers, of runs with a path; 0: none"
    )
    temperature: tuple[Annotated[float, Field(ge=1e-4, le=1e4)], ...] = Field((), description="temperatures")
    guidance: tuple[Annotated[float, Field(ge=0, le=1e4)], ...] = Field((), description="scales of guidance")


class Search(Strict):
    """A choice of velocity, step and corrector for each number of steps, by samples that are not reported."""

    runs: tuple[RunName, ...] = Field(min_length=1, description="runs with a path for which it is made")
    steps: tuple[Annotated[int, Field(ge=1, le=10**6)], ...] = Field(min_length=1, description="numbers of steps")
    velocity: tuple[Annotated[VelocityChoice, NameAlone], ...] = Field(
        (VelocityChoice(name="kinetic_optimal"), VelocityChoice(name="power_infinity")),
        min_length=1,
        description="velocities to choose from",
    )
    step: tuple[Annotated[StepChoice, NameAlone], ...] = Field(
        (StepChoice(name="exact"),), min_length=1, description="kinds of steps to choose from"
    )
    corrector: tuple[Annotated[float, Field(ge=0)], ...] = Field(
        (0.0,), min_length=1, description="weights of the corrector to choose from; 0: none"
    )
    count: int = Field(1000, ge=2, description="samples by which each combination is judged")


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
