"""What a velocity sees of a conditional path at one time."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class State:
    """p(x) = p_t(x | x1) for all x, and its derivatives by the path's clock. Every field is float64[..., K].

    Far from x1, p underflows, but a sample there must still know where to go. So the logarithm and its derivative are
    kept beside dp/ds. Where p is zero, `log_prob` is -inf and `log_prob_dot` is 0 by convention. There `prob_dot` may
    be positive: at t = 0 under a mask source, the mass of x1 is about to grow.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> path.state(torch.tensor([0]), torch.tensor([0.0], dtype=torch.float64)).prob_dot
    tensor([[ 1., -0., -1.]], dtype=torch.float64)
    """

    log_prob: Tensor
    prob_dot: Tensor
    log_prob_dot: Tensor

    @property
    def prob(self) -> Tensor:
        """p(x)."""
        return self.log_prob.exp()

    @property
    def support(self) -> Tensor:
        """The states that have mass or are about to get some."""
        return (self.log_prob > -torch.inf) | (self.prob_dot > 0)


def at(values: Tensor, token: Tensor) -> Tensor:
    """Return values[..., token] for one token per row, keeping the last axis with length 1."""
    return values.gather(-1, token[..., None])
