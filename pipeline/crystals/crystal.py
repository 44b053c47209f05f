"""A crystal as plain arrays, and as a structure of pymatgen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # importing pymatgen takes a second, which most commands need not wait for
    from pymatgen.core import Structure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Crystal:
    """A cell with the lengths (Angstrom) and angles (degrees) of its sides, and atoms Z at fractions [a, 3] of them."""

    id: str
    lengths: Floats
    angles: Floats
    numbers: Integers
    fractions: Floats

    @classmethod
    def of(cls, id: str, structure: Structure) -> Crystal:
        """Return the crystal of an ordered structure."""
        return cls(
            id,
            np.asarray(structure.lattice.abc, dtype=np.float64),
            np.asarray(structure.lattice.angles, dtype=np.float64),
            np.asarray(structure.atomic_numbers, dtype=np.int64),
            np.asarray(structure.frac_coords, dtype=np.float64).reshape(-1, 3),
        )

    def structure(self) -> Structure:
        """Return the structure; a cell that cannot exist (angles that do not close) is a ValueError."""
        from pymatgen.core import Lattice, Structure

        lattice = Lattice.from_parameters(*self.lengths.tolist(), *self.angles.tolist())
        if not np.isfinite(lattice.matrix).all() or not lattice.volume > 0:
            raise ValueError(f"no cell has the lengths {self.lengths.tolist()} and angles {self.angles.tolist()}")
        return Structure(lattice, self.numbers.tolist(), self.fractions)

    @property
    def composition(self) -> dict[int, int]:
        """The number of atoms of each Z."""
        return dict(sorted(Counter(self.numbers.tolist()).items()))
