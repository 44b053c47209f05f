"""Trials of a run on a few tokens, to find a loss, velocity or step that does not work on its path."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch

from pipeline.config.choices import DataChoice, PathChoice
from pipeline.config.plugins import DATASETS, MODELS
from pipeline.config.problems import Problem
from pipeline.config.runs import Run
from pipeline.flow.errors import FlowError
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import Path, build_path, known_to
from pipeline.flow.sampler import sample
from pipeline.flow.velocities import VELOCITIES
from pipeline.flow.vocabulary import Vocabulary

_LARGE = 2048  # tokens; a trial with a larger vocabulary would take too long


@dataclass(frozen=True)
class Tokens:
    """A vocabulary, and what paths learn about it from the data set."""

    vocabulary: Vocabulary
    known: dict[str, torch.Tensor]

    @classmethod
    def of(cls, choice: DataChoice) -> Self:
        """Return the tokens of a data set, or four tokens and a mask if it has many."""
        data = DATASETS.chosen(choice)
        vocabulary, known = data.plugin.vocabulary(data.options), dict[str, torch.Tensor]()
        if vocabulary.size > _LARGE and vocabulary.kinds == 1:
            vocabulary = Vocabulary.single(4, specials=1)
        elif (distances := data.plugin.distances(data.options)) is not None:
            known["distances"] = distances
        # As in real data: some tokens are equally frequent, and several share the lowest count.
        return cls(vocabulary, known | {"counts": torch.arange(vocabulary.size) // 2})


class Trials:
    """Trials of runs on the same tokens; runs that do not differ in what is tried share one trial."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._made: dict[str, list[Problem]] = {}

    def problems(self, run: Run) -> list[Problem]:
        """Return what is wrong with a run; keys are relative to the run."""
        tried = run.model_dump_json(
            include={"path": True, "loss": True, "model": True, "sampling": {"velocity", "step"}}
        )
        if tried not in self._made:
            self._made[tried] = [*_order(run), *(_Trial(run, run.path, self._tokens).problems() if run.path else [])]
        return self._made[tried]


def _order(run: Run) -> list[Problem]:
    """Return a problem unless exactly the runs without a path have an autoregressive network."""
    autoregressive = MODELS.load(run.model.name).AUTOREGRESSIVE
    if autoregressive == (run.path is None):
        return []
    what = "is autoregressive: set path: null" if autoregressive else "is not autoregressive: give the run a path"
    return [Problem(("model", "name"), run.model.name, f"{what}, or choose another model")]


class _Trial:
    """A run on one token of each kind; each of its parts returns what is wrong with it."""

    def __init__(self, run: Run, choice: PathChoice, tokens: Tokens) -> None:
        self._run, self._choice, self._known = run, choice, tokens.known
        self._vocabulary = tokens.vocabulary
        self._kinds = torch.arange(self._vocabulary.kinds)[None]
        self._generator = torch.Generator().manual_seed(0)
        self._path: Path

    def problems(self) -> list[Problem]:
        """Return what is wrong with the path or, if nothing is, with the time, loss and sampling on it."""
        if broken := self._try("path", self._build_path):
            return broken
        return [*self._time(), *self._try("loss", self._compute_loss), *self._try("sampling", self._draw)]

    def _time(self) -> list[Problem]:
        """Return a problem if the path needs the time but the network is not given it."""
        model = MODELS.chosen(self._run.model)
        if model.plugin.AUTOREGRESSIVE or model.plugin.is_told_time(model.options) or not self._path.needs_time:
            return []
        reason = f"the posterior of the path {self._choice.name!r} depends on the time; set it to true"
        return [Problem(("model", "time"), False, reason)]

    def _build_path(self) -> None:
        name, options = self._choice.name, self._choice.options
        self._path = build_path(name, self._vocabulary, **options, **known_to(name, self._known))

    def _compute_loss(self) -> None:
        assert self._run.loss is not None, "a run with a path has a loss"
        x1, t = self._vocabulary.targets(self._kinds).int().argmax(-1), torch.tensor([0.5], dtype=torch.float64)
        x_t = self._path.sample(x1, t, self._generator)
        loss = LOSSES.bind(self._run.loss.name, **self._run.loss.options)
        loss(self._path, self._flat_logits(x1, t), x1, x_t, t)

    def _draw(self) -> None:
        sampling = self._run.sampling
        sample(
            self._flat_logits,
            self._path,
            kinds=self._kinds,
            steps=2,
            velocity=VELOCITIES.bind(sampling.velocity.name, **sampling.velocity.options),
            step=sampling.step.name,
            generator=self._generator,
        )

    def _flat_logits(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return torch.zeros(*x.shape, self._vocabulary.size)

    def _try(self, part: str, attempt: Callable[[], None]) -> list[Problem]:
        try:
            attempt()
        except FlowError as error:
            path = "" if part == "path" else f"does not work on the path {self._choice.name!r}: "
            return [Problem((part,), None, f"{path}{error}")]
        return []
