"""The reduced cell of a crystal: the Niggli cell, and its smallest part that repeats within 0.25 A.

This is what `get_reduced_structure` and `get_primitive_structure` of pymatgen compute, on arrays instead of objects per
atom, and without a search where no smaller cell can exist.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pipeline.crystals.crystal import Crystal, Floats, Integers, fault_of_cell
from pipeline.crystals.elements import SYMBOLS

if TYPE_CHECKING:
    from pipeline.crystals.quick_lattice import QuickLattice

TOLERANCE = 0.25  # A; a primitive cell may repeat with this error
BLOCK = 10**6  # differences at once


@dataclass(frozen=True, eq=False)
class Cell:
    """A lattice with atoms Z at fractions [a, 3]."""

    lattice: "QuickLattice"
    numbers: Integers
    fractions: Floats


def reduced_cell(crystal: Crystal) -> Cell:
    """Return the reduced cell; raise a ValueError if the cell cannot exist, or if its reduction does not end."""
    from pipeline.crystals.quick_lattice import QuickLattice  # imports pymatgen, which takes a second

    if fault := fault_of_cell(crystal.lengths, crystal.angles):
        raise ValueError(fault)
    lattice = QuickLattice.from_parameters(*crystal.lengths.tolist(), *crystal.angles.tolist())
    return primitive(niggli(Cell(lattice, crystal.numbers, crystal.fractions)))


def niggli(cell: Cell) -> Cell:
    """Return the same crystal in the Niggli cell of its lattice."""
    lattice = cell.lattice.get_niggli_reduced_lattice()
    before, after = cell.lattice.matrix, lattice.matrix
    if (np.abs(after - before) <= 1e-8 + 1e-5 * np.abs(before)).all():
        return cell
    places = np.vecmat(cell.fractions, before)
    return Cell(lattice, cell.numbers, np.mod(np.vecmat(places, lattice.inv_matrix), 1))


def primitive(cell: Cell) -> Cell:
    """Return the smallest cell that repeats within the tolerance, reduced again, or the same cell."""
    counts = Counter(cell.numbers.tolist())
    most = gcd(*counts.values())
    if most == 1:
        return cell
    groups = [np.flatnonzero(cell.numbers == kind) for kind in sorted(counts, key=lambda z: SYMBOLS[z - 1])]
    tolerance: Floats = TOLERANCE / np.array(cell.lattice.abc)
    periods = _periods([cell.fractions[group] for group in groups], 2 * tolerance)
    if len(periods) == 1 and (tolerance <= 1 / most).all():
        return cell  # parts of a cell with up to `most` of them are at least 1 / most long
    for size, matrices in _parts(most):
        inverses = np.linalg.inv(matrices)
        close = np.all(_apart(inverses[:, :, None] - periods) < tolerance, axis=-1).any(axis=-1).all(axis=-1)
        for inverse, matrix in zip(inverses[close], matrices[close], strict=True):
            if (part := _part(cell, groups, inverse, matrix, size)) is not None:
                return niggli(primitive(part))
    return cell


def _periods(groups: list[Floats], tolerance: Floats) -> Floats:
    """Return the vectors between atoms of the rarest element that lead from every atom to one of its kind."""
    groups = sorted(groups, key=len)
    vectors = groups[0] - groups[0][0]
    box = 1 / tolerance  # distances are in units of the tolerance, as those of pymatgen's search tree
    for group in groups:
        size = max(1, BLOCK // (len(vectors) * len(group)))
        for at in range(0, len(group), size):
            ends = _scaled(group - group[at : at + size, None], box)
            between = np.abs(_scaled(vectors, box)[:, None, None] - ends)  # [vector, atom, other atom, axis]
            found = np.minimum(between, box - between).max(axis=-1).min(axis=-1) < 1
            vectors = vectors[found.all(axis=-1)]
    return vectors


def _scaled(fractions: Floats, box: Floats) -> Floats:
    return np.clip(fractions % 1.0 * box, 0, box * (1 - 1e-15))


def _parts(most: int) -> Iterator[tuple[int, Integers]]:
    """Yield numbers of cells that a cell may consist of, and the Hermite normal forms [n, 3, 3] of such supercells."""
    for size in range(2, most + 1):
        if most % size:
            continue
        for a, e in product(range(1, size + 1), repeat=2):
            if size % (a * e) == 0:
                off = product(range(a), range(a), range(e))
                yield size, np.array([[[a, b, c], [0, e, f], [0, 0, size // (a * e)]] for b, c, f in off])


def _part(cell: Cell, groups: list[Integers], inverse: Floats, matrix: Integers, size: int) -> Cell | None:
    """Return one of `size` equal parts of a cell, with the mean places of its atoms; None if they are not equal."""
    lattice_rows = np.dot(inverse, cell.lattice.matrix)
    tolerance = TOLERANCE / np.sqrt(np.sum(lattice_rows**2, axis=1))
    numbers, places = list[int](), list[Floats]()
    for group in groups:
        before = cell.fractions[group]
        apart = np.any(_apart(before - before[:, None]) > 2 * TOLERANCE / np.array(cell.lattice.abc), axis=-1)
        np.fill_diagonal(apart, val=True)
        after = np.dot(before, matrix)
        same: NDArray[np.bool_] = np.all(_apart(after - after[:, None]) < tolerance, axis=-1) & apart
        if not np.all(same.sum(axis=0) == size) or not all(same[one][:, one].all() for one in same):
            return None
        wrapped, added = after % 1, np.zeros(len(group), dtype=bool)
        for atom, one in enumerate(same):
            if not added[atom]:
                added |= one
                first, *others = np.flatnonzero(one)
                mean = wrapped[first]
                for number, other in enumerate(others):
                    offset = wrapped[other] - mean
                    mean += (offset - np.round(offset)) / (number + 2)
                numbers.append(int(cell.numbers[group[first]]))
                places.append(mean)
    lattice = type(cell.lattice)(np.dot(np.linalg.inv(matrix), cell.lattice.matrix))
    return Cell(lattice, np.array(numbers), np.array(places))


def _apart(differences: Floats) -> Floats:
    """Return how far fractions are from the next whole number."""
    return np.abs(differences - np.round(differences))
