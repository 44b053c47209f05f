"""Quick tests that two reduced cells must pass to be the same crystal: what fails needs no full comparison.

Each test follows from what `same_crystal` demands, with some slack for rounding, so it changes no verdict.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from pipeline.crystals.crystal import Floats, Integers
from pipeline.crystals.reduction import Cell

LENGTH = 0.2  # as a share
ANGLE = 5.0  # degrees
SITE = 0.3  # as a share of the mean free length per atom
SLACK = 1 + 1e-6
NEARLY = 1e-4  # by which the conditions of a reduced basis may be missed; its lengths are then minimal within 5e-4
MINIMAL = 1 - 1e-3


class Screen:
    """Tells which cells may be the same, by their atoms and by the lengths of their lattices, for many cells at once.

    If two are the same, the first lattice, scaled to the volume of the second, has a basis whose lengths are less than
    1.2 times those of the second one's. So the i-th of its successive minima is less than 1.2 times the i-th shortest
    of these. The minima are the lengths of a reduced basis; one that is not reduced passes with every other.
    """

    def __init__(self, cells: Sequence[Cell | None]) -> None:
        kinds: dict[tuple[int, ...], int] = {}
        self.kinds = np.full(len(cells), -1)
        self._minima, self._lengths = np.zeros((len(cells), 3)), np.zeros((len(cells), 3))
        for number, cell in enumerate(cells):
            if cell is not None:
                self.kinds[number] = kinds.setdefault(tuple(sorted(cell.numbers.tolist())), len(kinds))
                basis = cell.lattice.matrix / np.cbrt(cell.lattice.volume)
                self._lengths[number] = np.sort(np.linalg.norm(basis, axis=1))
                self._minima[number] = self._lengths[number] * MINIMAL if _is_reduced(basis) else 0

    def may_be_same(self, one: int, others: Integers) -> Integers:
        """Return those of the other cells that may be the same as one; the first of each pair is the lower number."""
        others = others[(self.kinds[others] == self.kinds[one]) & (self.kinds[others] >= 0)]
        first, second = np.minimum(one, others), np.maximum(one, others)
        return others[(self._minima[first] <= (1 + LENGTH) * SLACK * self._lengths[second]).all(axis=1)]


def bases_that_may_fit(bases: Floats, target: Floats, places: Floats, others: Floats, forbidden: Integers) -> Floats:
    """Return the bases [n, 3, 3] of a crystal with atoms at places that may fit over the cell of another.

    The other has the lengths and angles `target` and atoms at fractions `others`. If it fits, all steps r_i from its
    atoms to their partners are within R = 0.3 free lengths of their mean, so |r_i - r_0| < 2 R. Hence one of the shifts
    that bring the first of its rarest atoms onto one of its kind (r_0 = 0) brings each atom within 2 R of a partner.
    Where it has only one such partner, r_i is known, and so is the mean. All bases and shifts are tested at once.
    """
    means = matrices((parameters(bases) + target) / 2)
    free = np.cbrt(np.abs(np.linalg.det(means)) / len(places))
    radius = 2 * SITE * SLACK * free
    reach = (radius[:, None] * np.linalg.norm(np.linalg.inv(means), axis=1)).max(initial=0)  # in fractions
    if reach >= 1.5:
        return bases  # cells this flat would need more images
    images = np.array(list(product((-1, 0, 1), repeat=3))) if reach >= 0.5 else np.zeros((1, 3))
    own = np.matmul(places, np.linalg.inv(bases))
    anchor = int(np.argmax(forbidden.sum(axis=-1)))
    shifts = own[:, forbidden[anchor] == 0] - others[anchor]
    at, shifts = np.repeat(np.arange(len(bases)), shifts.shape[1]), shifts.reshape(-1, 3)
    single, steps = np.ones(len(at), dtype=bool), np.zeros((len(at), 0, 3))
    for other, kind in zip(others, forbidden, strict=True):
        if not len(at):
            return bases[:0]
        apart = own[:, kind == 0][at] - (other + shifts)[:, None]
        apart = (apart - np.round(apart))[:, :, None] + images
        vectors = np.matmul(apart.reshape(len(at), -1, 3), means[at])
        squares = np.vecdot(vectors, vectors)
        nearest = np.take_along_axis(vectors, squares.argmin(axis=-1)[:, None, None], axis=1)
        partners = (squares < radius[at, None] ** 2).sum(axis=-1)
        single, steps = single & (partners == 1), np.concatenate([steps, nearest], axis=1)
        at, shifts, single, steps = (values[partners > 0] for values in (at, shifts, single, steps))
    farthest = np.linalg.norm(steps - steps.mean(axis=1, keepdims=True), axis=-1).max(axis=-1)
    return bases[np.unique(at[~single | (farthest < SITE * SLACK * free[at])])]


def parameters(bases: Floats) -> Floats:
    """Return lengths and angles (degrees) [..., 6] of bases [..., 3, 3]."""
    lengths = np.sqrt(np.vecdot(bases, bases))
    after, last = [1, 2, 0], [2, 0, 1]
    cosines = np.vecdot(bases[..., after, :], bases[..., last, :]) / (lengths[..., after] * lengths[..., last])
    return np.concatenate([lengths, np.rad2deg(np.arccos(np.clip(cosines, -1, 1)))], axis=-1)


def matrices(cells: Floats) -> Floats:
    """Return bases [n, 3, 3] with the lengths and angles (degrees) [n, 6]."""
    a, b, c = cells[:, :3].T
    alpha, beta, gamma = np.cos(np.deg2rad(cells[:, 3:])).T
    height = np.sqrt(1 - gamma**2)
    along = (alpha - beta * gamma) / height
    zero = np.zeros_like(a)
    rows = [[a, zero, zero], [b * gamma, b * height, zero], [c * beta, c * along, c * np.sqrt(1 - beta**2 - along**2)]]
    return np.moveaxis(np.array(rows), -1, 0)


def _is_reduced(basis: Floats) -> bool:
    """Return whether a basis has the lengths of the successive minima (Minkowski's conditions), or nearly."""
    basis = basis[np.argsort(np.linalg.norm(basis, axis=1))]
    (aa, ab, ac), (_, bb, bc), _ = (basis @ basis.T) / (1 + NEARLY * (1 - np.eye(3)))
    sums = [aa + bb + 2 * (x * ac + y * bc + x * y * ab) for x in (-1, 1) for y in (-1, 1)]
    return 2 * max(abs(ab), abs(ac)) <= aa and 2 * abs(bc) <= bb and min(sums) >= 0
