"""What the atoms around say about where an atom can be: terms for the last unknown coordinate of an atom.

Two atoms never share a place, and elements keep typical distances. A transformer over tokens is slow to learn either,
since it would have to compare the coordinates of atoms token by token. Here the distances are computed: if two
coordinates of an atom are known, each value of the third gives distances to all atoms whose place is known. The term of
a value is a sum over these atoms and their nearest images, of a learned function of the distance and the two elements.
The function is of distances between atoms of a typical size: those between larger ones are scaled down, those between
smaller ones up. So all elements together learn where the repulsion begins.

Letters in shapes: B crystals, D = 6 + 4 a tokens of each, n tokens that are asked for, m of them that get terms, V
values of a coordinate.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from pipeline.crystals.networks.sizes import TYPICAL, volumes_of_elements
from pipeline.crystals.tokens import BEGIN, CELL, FIRST_ANGLE, FIRST_ELEMENT, FIRST_FRACTION, ONE, PER_ATOM

VALUES = ONE - FIRST_FRACTION
CUTOFF = 6.4  # Angstrom between atoms of a typical size
BINS = 41  # distances at which the function is learned; it is linear in between, and constant beyond
RANK = 16  # numbers of an element
STEEPNESS = 8.0  # nats by which the function changes if its weight changes by one; repulsion is strong
EXCLUDED = -1e4  # nats of a value without a chance; they are finite, so that all values may be excluded
CORE = 2.0  # Angstrom below which atoms of a typical size repel each other before anything is learned
REPULSION = 12.0  # nats, of two such atoms at the same place


class Contacts(nn.Module):
    """A function of distance and two elements: one for cells that are known, and one for those that are guessed.

    In a known cell, values that bring an atom closer than `shortest` (Angstrom) to another have no chance at all,
    unless all values do. The data has such crystals nowhere, so this takes effect in evaluation only.
    """

    def __init__(self, tokens: int, shortest: float = 0.0) -> None:
        super().__init__()
        self.shortest = shortest
        self.own = nn.Embedding(tokens, RANK)
        self.other = nn.Embedding(tokens, RANK)
        self.by_elements = nn.Parameter(torch.zeros(2, RANK, BINS))
        core = (torch.linspace(0, CUTOFF, BINS) / CORE - 1).clamp(max=0) * (REPULSION / STEEPNESS)
        self.of_all = nn.Parameter(torch.stack([torch.zeros(BINS), core]))
        radii = torch.ones(tokens)
        radii[FIRST_ELEMENT:BEGIN] = (volumes_of_elements() / TYPICAL) ** (1 / 3)
        self.radii: Tensor
        self.register_buffer("radii", radii, persistent=False)

    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """Return which of the tokens `at` [n] of crystals x [B, D] get terms, [m], and the terms, [m, V]."""
        atoms = x[:, CELL:].unflatten(1, (-1, PER_ATOM))  # [B, a, 4]
        fractions = atoms[..., 1:] - FIRST_FRACTION
        known = (fractions >= 0) & (fractions < VALUES)  # [B, a, 3]
        which, last = _last_coordinates(known, at, x.shape[1])
        cells = _Cells.of(x, atoms)
        elements, around = atoms[last.crystal, :, 0], known.all(-1)[last.crystal]  # [m, a]
        own = torch.arange(elements.shape[1], device=x.device) == last.atom[:, None]
        pairs = self.own(elements)[own][:, None] * self.other(elements)  # [m, a, RANK]
        kind = cells.known.long()[last.crystal]
        table = torch.einsum("mar,mrb->mab", pairs, self.by_elements[kind]) + self.of_all[kind][:, None]
        table = STEEPNESS * table * (around & ~own)[..., None]
        total, excluded = table.new_zeros(*elements.shape, VALUES), None
        radii = self.radii[elements]
        scale = CUTOFF / (BINS - 1) * (radii[own][:, None] + radii) / 2  # [m, a], Angstrom of a bin
        reach = self.shortest * (cells.known[last.crystal][:, None] & around & ~own)[..., None]  # [m, a, 1]
        for distance in _distances(fractions[last.crystal] / VALUES, own, last.axis, cells.metric[last.crystal]):
            place = (distance / scale[..., None]).clamp(max=BINS - 1)
            low = place.detach().floor().clamp(max=BINS - 2)
            share, low = (place - low).to(table.dtype), low.long()
            total = total + torch.lerp(table.gather(2, low), table.gather(2, low + 1), share)
            if self.shortest and not self.training:
                excluded = distance < reach if excluded is None else excluded | (distance < reach)
        terms = total.sum(1)
        return which, terms if excluded is None else terms.masked_fill(excluded.any(1), EXCLUDED)


class _Last(NamedTuple):
    """Coordinates whose atoms have no other unknown coordinate: crystal [m], atom [m], and axis [m]."""

    crystal: Tensor
    atom: Tensor
    axis: Tensor


def _last_coordinates(known: Tensor, at: Tensor, length: int) -> tuple[Tensor, _Last]:
    """Return which tokens `at` [n] are coordinates of atoms whose other two are known, [m], and where they are."""
    crystal, column = at // length, at % length
    atom = (column - CELL).div(PER_ATOM, rounding_mode="floor")
    axis = column - CELL - PER_ATOM * atom - 1
    own = known[crystal, atom.clamp(min=0)]  # [n, 3]
    others = own.sum(-1) - own.gather(1, axis.clamp(min=0)[:, None]).squeeze(1).long()
    which = ((column >= CELL) & (axis >= 0) & (others == 2)).nonzero().squeeze(-1)
    return which, _Last(crystal[which], atom[which], axis[which])


class _Cells(NamedTuple):
    """The metric tensors [B, 3, 3] of cells, and which are known [B]; others are cubes, as far as nothing is known."""

    metric: Tensor
    known: Tensor

    @classmethod
    def of(cls, x: Tensor, atoms: Tensor) -> "_Cells":
        lengths, angles = x[:, :3], x[:, 3:CELL] - FIRST_ANGLE
        known_lengths, known_angles = lengths < FIRST_ANGLE, (angles >= 0) & (angles < FIRST_FRACTION - FIRST_ANGLE)
        there = (atoms[..., 0] < BEGIN) | (atoms[..., 0] == BEGIN + 1)
        edge = (TYPICAL * there.sum(-1, keepdim=True)) ** (1 / 3)
        sides = torch.where(known_lengths, lengths / 10, edge)
        cosines = torch.where(known_angles, torch.cos(torch.deg2rad(angles.float())), 0.0)
        alpha, beta, gamma = cosines.unbind(1)
        one = torch.ones_like(alpha)
        rows = [torch.stack(row, -1) for row in ((one, gamma, beta), (gamma, one, alpha), (beta, alpha, one))]
        metric = torch.stack(rows, 1) * sides[:, :, None] * sides[:, None]
        return cls(metric, (known_lengths & known_angles).all(1))


def _distances(places: Tensor, own: Tensor, axis: Tensor, metric: Tensor) -> Iterator[Tensor]:
    """Yield the distances [m, a, V] from the values of a coordinate to images of all atoms, 8 times."""
    axes = torch.stack([axis, (axis + 1) % 3, (axis + 2) % 3], dim=1)  # the last coordinate comes first
    metric = metric.gather(1, axes[:, :, None].expand(-1, -1, 3)).gather(2, axes[:, None].expand(-1, 3, -1))
    places = places.gather(2, axes[:, None].expand(-1, places.shape[1], -1))  # [m, a, 3]
    values = torch.arange(VALUES, device=places.device) / VALUES
    along = values - places[..., :1]  # [m, a, V]
    across = places[own][:, None, 1:] - places[..., 1:]  # [m, a, 2]
    along, across = along - along.round(), across - across.round()
    g = metric[:, None, :, :]
    for first, second, third in itertools.product((0, 1), repeat=3):
        u = across[..., 0] - second * _sign(across[..., 0])
        v = across[..., 1] - third * _sign(across[..., 1])
        s = along - first * _sign(along)
        rest = g[..., 1, 1] * u**2 + g[..., 2, 2] * v**2 + 2 * g[..., 1, 2] * u * v
        slope = 2 * (g[..., 0, 1] * u + g[..., 0, 2] * v)
        yield (rest[..., None] + s * (slope[..., None] + g[..., 0, 0, None] * s)).clamp(min=0).sqrt()


def _sign(values: Tensor) -> Tensor:
    return torch.where(values < 0, -1.0, 1.0)
