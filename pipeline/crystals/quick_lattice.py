"""A lattice of pymatgen that answers faster what the comparison of crystals asks again and again."""

import math
from functools import cached_property
from typing import Any

import numpy as np
from pymatgen.core import Lattice

from pipeline.crystals.crystal import Floats, Integers


class QuickLattice(Lattice):
    """A lattice; its Niggli reduction gains most, because it looks for a basis at its end."""

    @cached_property
    def volume(self) -> float:
        """The volume of the cell."""
        return abs(sum(x * y for x, y in zip(self._crossed[0], self.matrix[0].tolist(), strict=True)))

    @cached_property
    def reciprocal_lengths(self) -> Floats:
        """The lengths of the reciprocal basis, with the factor 2 pi."""
        return np.array([2 * math.pi * math.hypot(*area) / self.volume for area in self._crossed])

    @cached_property
    def reduced(self) -> "QuickLattice":
        """The LLL cell."""
        return type(self)(self.lll_matrix)

    @cached_property
    def lll_inverse(self) -> Any:
        """The inverse of the change of basis to the LLL cell; pymatgen inverts anew for each call."""
        return np.linalg.inv(self.lll_mapping)

    @cached_property
    def _crossed(self) -> list[tuple[float, float, float]]:
        """The cross products of the other two rows, for each row."""
        a, b, c = self.matrix.tolist()
        return [
            (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
            for x, y in ((b, c), (c, a), (a, b))
        ]

    def find_mapping(
        self, other_lattice: Lattice, ltol: float = 1e-5, atol: float = 1, skip_rotation_matrix: bool = True
    ) -> tuple[Lattice, None, Integers] | None:
        """Return the first basis like that of another lattice, preferably not a mirror image, and its steps.

        The rotation, which pymatgen may return too, is always None.
        """
        bases, steps, volumes = self._bases_like(other_lattice, ltol, atol)
        chosen = [*np.flatnonzero(volumes > 0.5), *np.flatnonzero(np.abs(volumes) > 0.5)]
        return (type(self)(bases[chosen[0]]), None, steps[chosen[0]].astype(np.int64)) if chosen else None

    def scaled(self, factor: float) -> "QuickLattice":
        """Return the lattice with lengths times a factor."""
        return type(self)(self.matrix * factor)

    def primitive_bases_like(self, other: Lattice, length: float, angle: float) -> Floats:
        """Return the bases [n, 3, 3] of one cell whose lengths (as a share) and angles (degrees) are near another's."""
        bases, _, volumes = self._bases_like(other, length, angle)
        return bases[np.abs(np.abs(volumes) - 1) <= 0.5]

    def _bases_like(self, other: Lattice, length: float, angle: float) -> tuple[Floats, Floats, Floats]:
        """Return vectors [n, 3, 3], three each, as steps [n, 3, 3], and the volumes [n] in cells; these may be zero."""
        sides = np.array(other.lengths)
        found: Any = self.get_points_in_sphere([[0, 0, 0]], [0, 0, 0], sides.max() * (1 + length), zip_results=False)
        steps, distances = found[0], found[1]
        ratios = distances / sides[:, None]
        close = (ratios < 1 + length) & (ratios > 1 / (1 + length))
        some = np.flatnonzero(close.any(axis=0))
        vectors = np.dot(steps[some], self.matrix)
        lengths = np.sum(vectors**2, axis=-1) ** 0.5
        degrees = np.rad2deg(np.arccos(np.clip(np.inner(vectors, vectors) / lengths[:, None] / lengths, -1, 1)))
        a, b, c = (np.flatnonzero(one[some]) for one in close)
        alpha, beta, gamma = (
            np.abs(degrees[pair] - size) <= angle
            for pair, size in zip(((b[:, None], c), (a[:, None], c), (a[:, None], b)), other.angles, strict=True)
        )
        i, j, k = np.nonzero(gamma[:, :, None] & alpha & beta[:, None])
        chosen = np.stack([a[i], b[j], c[k]], axis=1)
        taken = steps[some][chosen]
        return vectors[chosen], taken, np.linalg.det(taken)
