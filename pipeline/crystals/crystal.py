"""A crystal as plain arrays, and as a structure of pymatgen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # importing pymatgen takes a second, and most commands do not need it
    from pymatgen.core import Structure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Key = tuple[bytes, ...]

LONGEST = 1000.0  # A; a side of a longer cell is a slip of units, and takes minutes to look at
FLAT = 1e-4  # degrees; angles this close to those of a flat cell count as flat, because of rounding


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
        lengths, angles, fractions = (
            np.asarray(values, dtype=np.float64)
            for values in (structure.lattice.abc, structure.lattice.angles, structure.frac_coords)
        )
        return cls(id, lengths, angles, np.asarray(structure.atomic_numbers, dtype=np.int64), fractions.reshape(-1, 3))

    def structure(self) -> Structure:
        """Return the structure; raise a ValueError if the cell cannot exist (angles that do not close)."""
        from pymatgen.core import Lattice, Structure

        if fault := fault_of_cell(self.lengths, self.angles):
            raise ValueError(f"{fault} (lengths {self.lengths.tolist()}, angles {self.angles.tolist()})")
        lattice = Lattice.from_parameters(*self.lengths.tolist(), *self.angles.tolist())
        return Structure(lattice, self.numbers.tolist(), self.fractions)

    @property
    def composition(self) -> dict[int, int]:
        """The number of atoms of each Z."""
        return dict(sorted(Counter(self.numbers.tolist()).items()))


def key_of(crystal: Crystal) -> Key:
    """Return a key that only exact copies of a crystal share."""
    return tuple(part.tobytes() for part in (crystal.lengths, crystal.angles, crystal.numbers, crystal.fractions))


def fault_of_cell(lengths: Floats, angles: Floats) -> str:
    """Return why no cell has the lengths (Angstrom) and angles (degrees), or ''.

    Its volume is abc sqrt(1 + 2 cos A cos B cos C - cos^2 A - cos^2 B - cos^2 C). The radicand is 4 sin s sin(s - A)
    sin(s - B) sin(s - C), where s is half the sum: it is positive if and only if the angles add up to less than 360 and
    each is less than the sum of the other two. This is what we check, because it does not suffer from rounding.
    """
    with np.errstate(all="ignore"):
        volume = np.prod(lengths)
    for wrong, reason in (
        (not (np.isfinite(lengths).all() and np.isfinite(angles).all()), "a number that is not finite"),
        ((lengths <= 0).any(), "a length that is not above zero"),
        ((lengths > LONGEST).any(), f"a side of more than {LONGEST:,.0f} A"),
        (not 0 < volume < np.inf, "lengths whose product is zero or infinite as a number"),
        (((angles <= 0) | (angles >= 180)).any(), "an angle that is not between 0 and 180 degrees"),
        (angles.sum() > 360 - FLAT or 2 * angles.max() > angles.sum() - FLAT, "angles that do not close to a cell"),
    ):
        if wrong:
            return reason
    return ""
