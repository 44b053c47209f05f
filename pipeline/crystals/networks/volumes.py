"""What the volume of a cell says about it and about its elements: terms by how much room each atom has.

An atom takes about the same room in all crystals, so the elements nearly give the volume. A transformer over tokens is
slow to learn this, since it would have to multiply lengths and add up atoms, and cells of twice the right density are
common. Here the volume is computed for each value of a length, of an angle or of an element that is asked for, and its
logit gets a learned function of the logarithm of this volume over the sum of learned volumes of the atoms. Both start
from what is known of crystals.

A length gets a term if the other two are known, an angle if all lengths are, an element if the cell is. Unknown angles
count as right ones, and hidden elements have a learned volume, too.

Letters in shapes: B crystals, D = 6 + 4 a tokens of each, n tokens that are asked for, m of them that get terms, V
values of a token.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from pipeline.crystals.networks.sizes import TYPICAL, volumes_of_elements
from pipeline.crystals.tokens import BEGIN, CELL, FIRST_ANGLE, FIRST_ELEMENT, FIRST_FRACTION, PER_ATOM

ELEMENTS = BEGIN - FIRST_ELEMENT
ANGLES = FIRST_FRACTION - FIRST_ANGLE
WIDEST = 1.5  # the largest logarithm of a ratio of volumes that is told from larger ones
BINS = 61  # ratios at which the function is learned; it is linear in between, and constant beyond
OF_LENGTH, OF_ANGLE, OF_ELEMENT, SITUATIONS = 0, 4, 7, 8  # by the number of other angles that are unknown
STEEPNESS = 8.0  # nats by which the function changes if its weight changes by one
WIDTH = 0.2  # standard deviation of the logarithm before anything is learned
LEAST = -12.0  # nats, of a volume that is far from right, before anything is learned
GROWTH = 4.0  # by which the logarithm of a volume changes if its weight changes by one
FLAT = 1e-3  # cubic Angstrom; no cell is smaller


class Volumes(nn.Module):
    """A function of the logarithm of the ratio for each situation, and a volume for each element."""

    def __init__(self) -> None:
        super().__init__()
        logarithms = torch.cat([torch.log(volumes_of_elements() / TYPICAL), torch.zeros(1)])
        self.sizes = nn.Parameter(logarithms / GROWTH)  # the last is that of a hidden element
        ratios = torch.linspace(-WIDEST, WIDEST, BINS)
        nats = (-0.5 * (ratios / WIDTH) ** 2).clamp(min=LEAST)
        self.table = nn.Parameter((nats / STEEPNESS).repeat(SITUATIONS, 1))

    def forward(self, x: Tensor, at: Tensor, pad: int) -> Iterator[tuple[Tensor, int, Tensor]]:
        """Yield which of the tokens `at` [n] of crystals x [B, D] get terms, [m], their first value, and terms [m, V].

        Tokens whose values are lengths come first, then angles, then elements.
        """
        crystal, column = at // x.shape[1], at % x.shape[1]
        sides, angles, known = cells_of(x)
        sizes, hidden, atoms = TYPICAL * torch.exp(GROWTH * self.sizes), *_atoms(x, pad)
        room = torch.where(hidden, sizes[-1], sizes[atoms]).masked_fill(x[:, CELL::PER_ATOM] == pad, 0).sum(1)  # [B]
        unknown = (~known[:, 3:]).sum(1)

        others = known[:, :3].sum(1)[crystal] - known[crystal, column.clamp(max=2)].long()
        which = ((column < 3) & (others == 2)).nonzero().squeeze(-1)
        of = crystal[which]
        tried = _with_values(sides[of], column[which], torch.arange(FIRST_ANGLE, device=x.device) / 10)
        yield which, 0, self._terms(OF_LENGTH + unknown[of], _volume(tried, angles[of][:, None]), room[of][:, None])

        which = ((column >= 3) & (column < CELL) & known[crystal, :3].all(1)).nonzero().squeeze(-1)
        of = crystal[which]
        values = torch.deg2rad(torch.arange(ANGLES, device=x.device).float())
        tried = _with_values(angles[of], column[which] - 3, values)
        left = unknown[of] - (~known[of, column[which]]).long()
        yield which, FIRST_ANGLE, self._terms(OF_ANGLE + left, _volume(sides[of][:, None], tried), room[of][:, None])

        is_element = (column >= CELL) & ((column - CELL) % PER_ATOM == 0)
        which = (is_element & known[crystal].all(1)).nonzero().squeeze(-1)
        of, atom = crystal[which], (column[which] - CELL) // PER_ATOM
        own = torch.where(hidden[of, atom], sizes[-1], sizes[atoms[of, atom]])
        needed = (room[of] - own)[:, None] + sizes[:-1]
        volume = _volume(sides, angles)[of][:, None]
        yield which, FIRST_ELEMENT, self._terms(torch.full_like(of, OF_ELEMENT), volume, needed)

    def _terms(self, situation: Tensor, volume: Tensor, needed: Tensor) -> Tensor:
        """Return the terms [m, V] of volumes where atoms need some, in `situation` [m]."""
        ratio = torch.log(volume.clamp(min=FLAT)) - torch.log(needed.clamp(min=FLAT))
        place = ((ratio / WIDEST + 1) * ((BINS - 1) / 2)).clamp(0, BINS - 1)
        low = place.detach().floor().clamp(max=BINS - 2)
        share, low = place - low, low.long()
        table = STEEPNESS * self.table[situation]
        return torch.lerp(table.gather(1, low), table.gather(1, low + 1), share)


def cells_of(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sides and angles [B, 3] of crystals, right where unknown, and which of the six are known [B, 6]."""
    lengths, angles = x[:, :3], x[:, 3:CELL] - FIRST_ANGLE
    known = torch.cat([lengths < FIRST_ANGLE, (angles >= 0) & (angles < ANGLES)], dim=1)
    return lengths / 10, torch.deg2rad(torch.where(known[:, 3:], angles, 90).float()), known


def _atoms(x: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """Return which atoms have no element yet, and the number of each element, [B, a]."""
    tokens = x[:, CELL::PER_ATOM]
    known = (tokens >= FIRST_ELEMENT) & (tokens < BEGIN)
    return ~known & (tokens != pad), (tokens - FIRST_ELEMENT).clamp(0, ELEMENTS - 1)


def _with_values(three: Tensor, place: Tensor, values: Tensor) -> Tensor:
    """Return each three numbers [m, 3] with all values at one of their places [m], [m, V, 3]."""
    here = torch.arange(3, device=three.device) == place[:, None]
    return torch.where(here[:, None], values[:, None], three[:, None])


def _volume(sides: Tensor, angles: Tensor) -> Tensor:
    """Return the volumes of cells from their sides and angles [..., 3]; 0 for angles that do not close to a cell."""
    cosines = torch.cos(angles)
    square = 1 - (cosines**2).sum(-1) + 2 * cosines.prod(-1)
    return sides.prod(-1) * square.clamp(min=0).sqrt()
