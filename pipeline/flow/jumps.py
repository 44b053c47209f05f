"""Jumps out of a state: the total rate, and a draw of the destination.

Steps need nothing else of a jump, so a closed form can offer one that never builds a row of K rates.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.categorical import draw_by_totals
from pipeline.flow.velocities.net_rates import advancing, preserving
from pipeline.flow.vocabulary import Places

EVERYWHERE = slice(None)


@dataclass(frozen=True)
class Correction:
    """How strongly a jump is corrected: the weight w of the corrector and the limit L of its total rate, both [...].

    The corrector's rate to x is min(w |n(x, z)|, L p(x)). Times p(z), both parts are symmetric in x and z, so the
    limited corrector still leaves p unchanged. The limits of all x add up to L.
    """

    weight: Tensor
    limit: Tensor

    def rates(self, net_rates: Tensor, prob: Tensor) -> Tensor:
        """Return the corrector's rates to every state, [..., K]."""
        return torch.minimum(self.weight[..., None] * preserving(net_rates), self.limit[..., None] * prob)

    def at(self, places: Places) -> "Correction":
        """Return the correction of some of the states."""
        return Correction(self.weight[places], self.limit[places])


class Jump(ABC):
    """The jump out of each state z: `rate` [...] per unit of the path's clock."""

    rate: Tensor

    @abstractmethod
    def destination(self, uniforms: Tensor, here: Places = EVERYWHERE) -> Tensor:
        """Return where the jumps `here` go, given one uniform number for each; any token where the rate is zero."""


class RowJump(Jump):
    """A jump given by full rows of rates [..., K].

    >>> jump = RowJump(torch.tensor([[0.0, 3.0, 1.0]], dtype=torch.float64))
    >>> jump.rate, jump.destination(torch.tensor([0.9], dtype=torch.float64))
    (tensor([4.], dtype=torch.float64), tensor([2]))
    """

    def __init__(self, rates: Tensor) -> None:
        self.rates = rates
        self.rate = rates.sum(-1)

    def destination(self, uniforms: Tensor, here: Places = EVERYWHERE) -> Tensor:
        return draw_by_totals(self.running_totals(here), uniforms)

    def running_totals(self, here: Places = EVERYWHERE) -> Tensor:
        """Return the running totals of the rates to every state, [..., K]; all states are alike without a jump."""
        still = self.rate[here] == 0
        return (self.rates[here] + still[..., None]).cumsum(-1)


class SharedJump(Jump):
    """A jump given by rows of rates [M, K] that states share; `which` [N] is the row of each state."""

    def __init__(self, rows: RowJump, which: Tensor) -> None:
        self._running, self._which = rows.running_totals(), which
        self.rate = rows.rate[which]

    def destination(self, uniforms: Tensor, here: Places = EVERYWHERE) -> Tensor:
        return draw_by_totals(self._running, uniforms, self._which[here])


def row_jump(net_rates: Tensor, correction: Correction | None = None, prob: Tensor | None = None) -> RowJump:
    """Return the jump with a velocity's net rates; a correction also needs the probabilities of all states."""
    rates = advancing(net_rates)
    if correction is not None and prob is not None:
        rates = rates + correction.rates(net_rates, prob)
    return RowJump(rates)
