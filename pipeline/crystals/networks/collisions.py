"""Atoms that are too close to each other, and which of them to place anew.

Letters in shapes: B crystals, D = 6 + 4 a tokens of each.
"""

import itertools

import torch
from torch import Tensor

from pipeline.crystals.networks.sizes import volumes_of_elements
from pipeline.crystals.networks.volumes import cells_of
from pipeline.crystals.tokens import BEGIN, CELL, FIRST_ELEMENT, FIRST_FRACTION, ONE, PER_ATOM

FAR = 10.0  # what counts as no neighbour, as a share of the sum of two radii


def atoms_to_move(x: Tensor, spacing: float, free: Tensor, generator: torch.Generator) -> Tensor:
    """Return the coordinates of one atom of each crystal x [B, D] that has atoms closer than `spacing`, bool [B, D].

    It is the atom with most of them, and one at random if several have as many. Only coordinates that are `free` [B, D]
    are returned, and atoms without any are passed over.
    """
    close = relative_distances(x) < spacing  # [B, a, a]
    movable = free[:, CELL:].unflatten(1, (-1, PER_ATOM))[..., 1:]  # [B, a, 3]
    collisions = close.sum(-1) * movable.any(-1)  # [B, a]
    chance = torch.rand(collisions.shape, generator=generator, device=generator.device).to(x.device)
    worst = (collisions + chance).masked_fill(collisions == 0, 0).argmax(-1, keepdim=True)
    chosen = torch.zeros_like(collisions, dtype=torch.bool).scatter_(1, worst, collisions.gather(1, worst) > 0)
    found = torch.zeros_like(free)
    found[:, CELL:].unflatten(1, (-1, PER_ATOM))[..., 1:] = movable & chosen[..., None]
    return found


def relative_distances(x: Tensor) -> Tensor:
    """Return the distances between the atoms of crystals x [B, D], as shares of the sums of their radii, [B, a, a].

    Radii are those of spheres with the volumes of the elements. What is not an atom in its place is far from all
    others, and so is an atom from itself: images of one atom are the business of the cell.
    """
    atoms = x[:, CELL:].unflatten(1, (-1, PER_ATOM))
    elements, places = atoms[..., 0], atoms[..., 1:]
    there = (elements >= FIRST_ELEMENT) & (elements < BEGIN)
    there &= ((places >= FIRST_FRACTION) & (places <= ONE)).all(-1)
    volumes = volumes_of_elements().to(x.device)[(elements - FIRST_ELEMENT).clamp(0, BEGIN - FIRST_ELEMENT - 1)]
    radii = (0.75 / torch.pi * volumes) ** (1 / 3)
    fractions = (places - FIRST_FRACTION) / 100
    apart = fractions[:, :, None] - fractions[:, None]
    apart = apart - apart.round()
    basis, nearest = _basis(x)[:, None], torch.full(apart.shape[:3], torch.inf, device=x.device)
    for image in itertools.product((-1.0, 0.0, 1.0), repeat=3):
        nearest = torch.minimum(nearest, ((apart + torch.tensor(image, device=x.device)) @ basis).norm(dim=-1))
    pairs = there[:, :, None] & there[:, None] & ~torch.eye(there.shape[1], dtype=torch.bool, device=x.device)
    return torch.where(pairs, nearest / (radii[:, :, None] + radii[:, None]), FAR)


def _basis(x: Tensor) -> Tensor:
    """Return the vectors of the cells of crystals, one a row, [B, 3, 3]."""
    sides, angles, _ = cells_of(x)
    alpha, beta, gamma = torch.cos(angles).unbind(1)
    zero, one, sine = torch.zeros_like(alpha), torch.ones_like(alpha), torch.sin(angles[:, 2]).clamp(min=1e-6)
    across = (alpha - beta * gamma) / sine
    up = (1 - beta**2 - across**2).clamp(min=0).sqrt()  # 0 if the angles do not close to a cell
    rows = [(one, zero, zero), (gamma, sine, zero), (beta, across, up)]
    return torch.stack([torch.stack(row, -1) for row in rows], 1) * sides[:, :, None]
