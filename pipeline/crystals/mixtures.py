"""The mixture of phases with the lowest energy: a small linear programme, solved tens of thousands of times."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.crystals.crystal import Floats
from pipeline.errors import KinoflowError

NOTHING = 1e-12  # eV/atom, and shares; less is rounding
PIVOT = 1e-9  # a phase that changes by less cannot leave: the next equations would have no solution
STEEPEST = 100  # steps by the steepest descent, before those that cannot go round in circles
MOST = 10_000


def lowest_mixture(matrix: Floats, energies: Floats, shares: Floats) -> float:
    """Return min_w sum_j w_j E_j over w >= 0 with sum_j w_j x_j = x.

    Column j of the matrix [elements, phases] has the shares x_j of phase j; among the phases are the pure elements. The
    simplex method starts from these. A general solver takes six times as long, most of it to prepare. It is asked where
    rounding leads the simplex method astray.
    """
    try:
        found = _by_simplex(matrix, energies, shares)
    except np.linalg.LinAlgError:  # phases of almost the same composition
        found = None
    return _by_general_solver(matrix, energies, shares) if found is None else found


def _by_simplex(matrix: Floats, energies: Floats, shares: Floats) -> float | None:
    """Return the lowest energy; None if the steps do not end at a mixture."""
    basis = _elements(matrix)
    for step in range(MOST):
        square = matrix[:, basis]
        reduced = energies - np.linalg.solve(square.T, energies[basis]) @ matrix  # what a phase would gain
        gains = np.flatnonzero(reduced < -NOTHING)
        if not len(gains):
            weights = np.linalg.solve(square, shares)
            return float(energies[basis] @ weights) if weights.min() > -PIVOT else None
        entering = gains[np.argmin(reduced[gains])] if step < STEEPEST else gains[0]
        weights, change = np.linalg.solve(square, np.column_stack([shares, matrix[:, entering]])).T
        with np.errstate(divide="ignore"):
            lasts = np.where(change > PIVOT, np.maximum(weights, 0) / np.maximum(change, PIVOT), np.inf)
        ends = np.flatnonzero(lasts <= lasts.min() + NOTHING)
        leaving = ends[np.argmax(change[ends])] if step < STEEPEST else min(ends, key=lambda row: basis[row])
        basis[leaving] = int(entering)
    return None


def _by_general_solver(matrix: Floats, energies: Floats, shares: Floats) -> float:
    from scipy.optimize import linprog

    solved = linprog(energies, A_eq=matrix, b_eq=shares, method="highs-ds")
    if not solved.success:  # should not happen: the elements alone are a solution
        raise KinoflowError(f"the hull at shares {shares.tolist()} cannot be computed ({solved.message})")
    return float(solved.fun)


def _elements(matrix: Floats) -> list[int]:
    """Return the column of each pure element."""
    pure = np.count_nonzero(matrix, axis=0) == 1
    columns: Sequence[Any] = [np.flatnonzero(pure & (row > 0)) for row in matrix]
    return [int(found[0]) for found in columns]
