"""Jumps out of a state: the total rate, and a draw of the destination.

The interface is all that steps need, so that a path may offer a jump that never builds a row of K rates.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from pipeline.flow.categorical import draw
from pipeline.flow.velocities import advancing, preserving


class Jump(ABC):
    """The jump out of each state z: `rate` [...] per unit of the path's clock."""

    rate: Tensor

    @abstractmethod
    def destination(self, uniforms: Tensor) -> Tensor:
        """Return where each jump goes, one uniform number [...] each; any token where the rate is zero."""


class RowJump(Jump):
    """A jump given by the full rows of rates [..., K]; the plain reference."""

    def __init__(self, net_rates: Tensor, weight: float = 0.0, limit: Tensor | None = None) -> None:
        self.rates = advancing(net_rates)
        if weight:
            corrector = preserving(net_rates)
            self.rates = self.rates + limited(weight, corrector.sum(-1), limit)[..., None] * corrector
        self.rate = self.rates.sum(-1)

    def destination(self, uniforms: Tensor) -> Tensor:
        still = self.rate == 0
        return draw(self.rates + still[..., None], uniforms)


def limited(weight: float, corrector_rate: Tensor, limit: Tensor | None) -> Tensor:
    """Return the corrector's weight, lowered where the weighted rate would be above `limit`."""
    weights = torch.full_like(corrector_rate, weight)
    return weights if limit is None else torch.minimum(weights, limit / corrector_rate.clamp(min=1e-300))
