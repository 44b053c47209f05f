"""The mixture of phases with the lowest energy: a small linear programme, solved tens of thousands of times."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.crystals.crystal import Floats
from pipeline.errors import KinoflowError

NOTHING = 1e-12  # eV/atom, and shares; less is rounding
STEEPEST = 100  # steps by the steepest descent, before those that cannot go round in circles
MOST = 10_000


def lowest_mixture(matrix: Floats, energies: Floats, shares: Floats) -> float:
    """Return min_w sum_j w_j E_j over w >= 0 with sum_j w_j x_j = x.

    Column j of the matrix [elements, phases] has the shares x_j of phase j; among the phases are the pure elements. The
    simplex method starts from these. A general solver takes six times as long, most of it to prepare.
    """
    basis = _elements(matrix)
    for step in range(MOST):
        square = matrix[:, basis]
        reduced = energies - np.linalg.solve(square.T, energies[basis]) @ matrix  # what a phase would gain
        gains = np.flatnonzero(reduced < -NOTHING)
        if not len(gains):
            return float(energies[basis] @ np.linalg.solve(square, shares))
        entering = gains[np.argmin(reduced[gains])] if step < STEEPEST else gains[0]
        weights, change = np.linalg.solve(square, np.column_stack([shares, matrix[:, entering]])).T
        with np.errstate(divide="ignore"):
            lasts = np.where(change > NOTHING, np.maximum(weights, 0) / np.maximum(change, NOTHING), np.inf)
        ends = np.flatnonzero(lasts <= lasts.min() + NOTHING)
        basis[min(ends, key=lambda row: basis[row])] = int(entering)
    raise KinoflowError(f"the hull at shares {shares.tolist()} cannot be computed")  # should not happen


def _elements(matrix: Floats) -> list[int]:
    """Return the column of each pure element."""
    pure = np.count_nonzero(matrix, axis=0) == 1
    columns: Sequence[Any] = [np.flatnonzero(pure & (row > 0)) for row in matrix]
    return [int(found[0]) for found in columns]
