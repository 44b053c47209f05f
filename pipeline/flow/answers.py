"""The posterior of every token as a table, for schemes that need more of it than a draw."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.allowed import Allowed
from pipeline.flow.categorical import sharpen
from pipeline.flow.checks import check_peaks
from pipeline.flow.paths.base import Path
from pipeline.flow.posterior import Model, constrain


@dataclass(frozen=True)
class Answers:
    """p(x1 | x_t) as a model gives it at positions of `kinds` [B, D], after the `filters` of the sampler.

    `PosteriorSampler` draws from the same distributions, without a table of them.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> answers = Answers(lambda x, t: torch.zeros(*x.shape, 3), path, torch.tensor([[0, 0]]))
    >>> answers(torch.tensor([[2, 1]]), torch.tensor([0.5]))  # a mask, and a token that is there already
    tensor([[[0.5000, 0.5000, 0.0000],
             [0.0000, 1.0000, 0.0000]]], dtype=torch.float64)
    """

    model: Model
    path: Path
    kinds: Tensor
    filters: Callable[[Tensor], Tensor] = sharpen
    labels: Tensor | None = None
    allowed: Allowed | None = None

    def __call__(self, x: Tensor, t: Tensor) -> Tensor:
        """Return p(x1 | x) for tokens x [B, D] at times t [B], float64[B, D, K]."""
        logits = self.model(x, t) if self.labels is None else self.model(x, t, labels=self.labels)
        possible = constrain(self.path, logits.double(), x, self.kinds)
        if self.allowed is not None:
            inside = self.allowed.sets[self.allowed.which] | self.path.absorbed(x, self.kinds)[..., None]
            possible = possible.masked_fill(~inside, -torch.inf)
        check_peaks(possible.amax(-1))
        return self.filters(possible).softmax(-1)
