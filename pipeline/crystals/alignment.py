"""Whether two reduced cells are the same crystal, as pymatgen's StructureMatcher decides with its default tolerances.

Both are scaled to one volume. They are the same if one lattice can be laid over the other, and an atom over one of its
kind, such that all atoms are near one of their kind. pymatgen copies both structures three times for each comparison,
and tries all ways in any order. Here the least turns and shifts come first, because reduced cells of the same crystal
are mostly alike; if the first does not fit, those that cannot are left out. The answer is the same, because one way
that fits is enough.
"""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from pipeline.crystals.crystal import Floats, Integers
from pipeline.crystals.reduction import Cell
from pipeline.crystals.screening import ANGLE, LENGTH, SITE, bases_that_may_fit, parameters

ROUNDING = 1e-9
WRAPPED = (True, True, True)


def same_crystal(first: Cell, second: Cell, screened: bool = True) -> bool:
    """Return whether two reduced cells are the same crystal; the answer may depend on which comes first.

    It does not depend on whether the ways to lay them over each other are screened before they are tried.
    """
    if sorted(first.numbers.tolist()) != sorted(second.numbers.tolist()):
        return False
    ratio = (second.lattice.volume / first.lattice.volume) ** (1 / 6)
    forbidden = (second.numbers[:, None] != first.numbers).astype(np.int64)
    places = np.vecmat(first.fractions, first.lattice.matrix * ratio)
    target = np.concatenate([np.array(second.lattice.lengths) / ratio, second.lattice.angles])
    fits = partial(_fits, places=places, others=second.fractions, target=target, forbidden=forbidden)
    bases = _bases(first, second, ratio)
    if any(fits(basis) for basis in islice(bases, 1)):
        return True
    rest = np.array(list(bases)).reshape(-1, 3, 3)
    if screened:
        rest = bases_that_may_fit(rest, target, places, second.fractions, forbidden)
    return any(fits(basis) for basis in rest)


def _bases(first: Cell, second: Cell, ratio: float) -> Iterator[Floats]:
    """Yield the bases [3, 3] of the first lattice, scaled, that have nearly the lengths and angles of the second."""
    lengths = np.array(first.lattice.lengths) * ratio**2 / second.lattice.lengths
    angles = np.subtract(first.lattice.angles, second.lattice.angles)
    if abs(np.log(lengths)).max() < np.log1p(LENGTH) - ROUNDING and abs(angles).max() < ANGLE - ROUNDING:
        yield first.lattice.matrix * ratio
    target = second.lattice.scaled(1 / ratio)
    yield from first.lattice.scaled(ratio).primitive_bases_like(target, LENGTH, ANGLE)


def _fits(basis: Floats, places: Floats, others: Floats, target: Floats, forbidden: Integers) -> bool:
    """Return whether the atoms fit if the basis of the one crystal, at places, lies over that of the other."""
    from pymatgen.util.coord_cython import is_coord_subset_pbc

    from pipeline.crystals.quick_lattice import QuickLattice

    mean = QuickLattice.from_parameters(*((parameters(basis) + target) / 2).tolist())
    own = np.dot(places, np.linalg.inv(basis))
    own -= np.floor(own)
    per_length = (len(own) / mean.volume) ** (1 / 3)
    tolerance = mean.reciprocal_lengths * SITE / (np.pi * per_length)
    anchor = int(np.argmax(forbidden.sum(axis=-1)))
    shifts = own[forbidden[anchor] == 0] - others[anchor]  # of the other crystal, onto each atom of one kind
    sizes = np.abs(shifts - np.round(shifts)).sum(axis=-1)
    for shift in shifts[np.argsort(sizes)]:
        moved = others + shift
        if is_coord_subset_pbc(moved, own, tolerance, forbidden, WRAPPED) and (
            _largest_distance(own, moved, mean, forbidden, per_length) < SITE
        ):
            return True
    return False


def _largest_distance(own: Floats, others: Floats, lattice: Any, forbidden: Integers, per_length: float) -> float:
    """Return how far the farthest atom is from its partner after the best shift, as a share of the free length."""
    from pymatgen.util.coord_cython import pbc_shortest_vectors
    from scipy.optimize import linear_sum_assignment

    tolerance = lattice.reduced.reciprocal_lengths * SITE / (np.pi * per_length)
    vectors, squares = pbc_shortest_vectors(lattice, others, own, forbidden, True, tolerance)
    shortest = vectors[linear_sum_assignment(squares)]
    squares = np.sum((shortest - np.mean(shortest, axis=0)) ** 2, axis=-1)
    return float(squares.max() ** 0.5 * per_length)
