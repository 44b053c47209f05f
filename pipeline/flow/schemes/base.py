"""What a scheme is: how one step of the sampler uses the model."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.answers import Answers
from pipeline.flow.categorical import uniform
from pipeline.flow.posterior import Asked, PosteriorSampler
from pipeline.flow.steps import Transition


@dataclass(frozen=True)
class Walk:
    """What all steps of one run of the sampler share.

    `start` [B, D] are the tokens at t = 0. `answers` is the posterior as a table, `posterior` draws from it. `put`
    (x, t) returns x with the given tokens in their places.
    """

    posterior: PosteriorSampler
    answers: Answers
    transition: Transition
    asked: Asked
    start: Tensor
    put: Callable[[Tensor, float], Tensor]
    generator: torch.Generator

    def draw(self, x: Tensor, t: float) -> Tensor:
        """Draw x1 given x at t, [B, D]. This asks the model."""
        return self.posterior.draw(x, self._times(x, t), self.asked, self._uniforms(x)).view_as(x)

    def probabilities(self, x: Tensor, t: float) -> Tensor:
        """Return p(x1 | x) for all x1, float64[B, D, K]. This asks the model."""
        return self.answers(x, self._times(x, t))

    def move(self, x: Tensor, x1: Tensor, t: float, t_next: float) -> Tensor:
        """Draw x at t_next given x at t and x1."""
        moved = self.transition.advance(x, x1, t, t_next, self.generator, self.asked.of_kinds)
        return self.put(moved, t_next)

    def uniforms(self, x: Tensor) -> Tensor:
        """Draw a number in [0, 1) for each token."""
        return self._uniforms(x).view_as(x)

    def _uniforms(self, x: Tensor) -> Tensor:
        return uniform((x.numel(),), self.generator, x.device)

    def _times(self, x: Tensor, t: float) -> Tensor:
        return torch.full((len(x),), t, dtype=torch.float32, device=x.device)


class Scheme(ABC):
    """How a step from t to t + h uses the model, which it asks `evaluations` times.

    >>> class Half(Scheme):  # moves every token by half of a step only
    ...     def step(self, walk, x, t, t_next):
    ...         x1 = walk.draw(x, t)
    ...         return walk.move(x, x1, t, t_next if t_next == 1 else (t + t_next) / 2)
    >>> path, generator = build_path("mask", Vocabulary.single(2, specials=1)), torch.Generator().manual_seed(0)
    >>> sample(lambda x, t: torch.zeros(*x.shape, 3), path, shape=(1, 4), scheme=Half(), generator=generator).tokens
    tensor([[1, 0, 1, 0]])
    """

    evaluations = 1

    def check(self, transition: Transition) -> None:
        """Raise a FlowError if the scheme cannot follow the path, or not by these jumps."""
        return

    @abstractmethod
    def step(self, walk: Walk, x: Tensor, t: float, t_next: float) -> Tensor:
        """Return the tokens at t_next, given the tokens x [B, D] at t."""
