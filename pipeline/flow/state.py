"""What a velocity sees of a conditional path at one time."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class State:
    """p(x) = p_t(x | x1) for all x, and its derivatives by the path's clock; every field is float64[..., K].

    The logarithm and its derivative are kept beside dp/ds, because far from x1 p itself underflows while a sample that
    is there must still know where to go. Where p is zero, `log_prob` is -inf and `log_prob_dot` is 0 by convention, but
    `prob_dot` may be positive: at t = 0 the mass of x1 under a mask source is just about to grow.
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
        """The states that have mass, or are just about to get some."""
        return (self.log_prob > -torch.inf) | (self.prob_dot > 0)


def at(values: Tensor, token: Tensor) -> Tensor:
    """Return values[..., token] for one token per row, keeping the last axis with length 1."""
    return values.gather(-1, token[..., None])
