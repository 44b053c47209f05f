"""Jumps out of a state: the total rate, and a draw of the destination.

Steps need nothing else of a jump, so a closed form can offer one that never builds a row of K rates.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow import device
from pipeline.flow.categorical import draw_by_totals
from pipeline.flow.chunks import small_chunks
from pipeline.flow.velocities.net_rates import advancing, preserving
from pipeline.flow.vocabulary import Places

EVERYWHERE = slice(None)


@dataclass(frozen=True)
class Correction:
    """The probabilities of a corrector's jumps in one step: a weight W and a limit L, both [...].

    A token jumps from z to x with probability min(W |n(x, z)|, L p(x)), or L p(x) if there is no weight. Times p(z),
    this is symmetric in x and z, so the step leaves p unchanged. The probabilities of all x add up to at most L.
    """

    weight: Tensor | None
    limit: Tensor

    def rates(self, net_rates: Tensor, prob: Tensor) -> Tensor:
        """Return the probability of a jump to every state, [..., K]; a jump to z itself is none."""
        most = self.limit[..., None] * prob
        return most if self.weight is None else torch.minimum(self.weight[..., None] * preserving(net_rates), most)

    def at(self, places: Places) -> "Correction":
        """Return the correction of some of the states."""
        return Correction(None if self.weight is None else self.weight[places], self.limit[places])


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


def row_jump(net_rates: Tensor) -> RowJump:
    """Return the jump with a velocity's net rates."""
    return RowJump(advancing(net_rates))


def one_jump(rates: Tensor, chance: Tensor, z: Tensor) -> Tensor:
    """Return the distribution after at most one jump from z, which happens with a `chance` [...], [..., K]."""
    share = rates / rates.sum(-1, keepdim=True).clamp(min=1e-300)
    return (chance[..., None] * share).scatter_add(-1, z[..., None], 1 - chance[..., None])


def jumped(
    z: Tensor,
    x1: Tensor,
    numbers: tuple[Tensor, Tensor],
    most: Tensor | None,
    size: int,
    jump: Callable[[Tensor, Tensor], Jump],
    chance: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Return where tokens z [N] are after a jump, given two uniform numbers for each: if it leaves, and where to.

    `jump` (x1, z) holds `size` numbers for each token, and `chance` (rate, x1) is the probability that a token leaves.
    If it is at `most` so large, only tokens that may leave go on to rows of rates. To know how many they are, the host
    waits for the device once. The rows of all tokens would take longer.
    """
    everyone, (chances, places), may_leave = z, numbers, None
    if most is not None:
        may_leave = (chances < most).nonzero().squeeze(-1)
        z, x1, chances, places = (values[may_leave] for values in (z, x1, chances, places))
    moved = z.clone()
    for part in small_chunks(z, size, sharing=True):
        found = jump(x1[part], z[part])
        leaves = chances[part] < chance(found.rate, x1[part])
        # A CPU draws destinations only for tokens that leave. A GPU would have to wait for their number.
        here = leaves.nonzero().squeeze(-1) if device.is_host(z) else EVERYWHERE
        moved[part][here] = torch.where(leaves[here], found.destination(places[part][here], here), z[part][here])
    return moved if may_leave is None else everyone.index_copy(0, may_leave, moved)
