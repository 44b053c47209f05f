"""The space group of a crystal, and the crystal made exactly symmetric, both by moyopy.

Atoms may be as far from where a symmetry puts them as the tolerance says: 0.1 A. Tokens round lengths to 0.1 A, angles
to 1 degree and fractions to 0.01. The Materials Project and MatterGen ask for 0.1 A, too.

Relaxed crystals get 0.2 A. A relaxation ends before everything is in its place. The force on the cell is its volume
times the stress, divided by the number of atoms. Where forces may be 0.1 eV/A and an atom fills 20 A^3, the stress may
thus be 0.8 GPa, and a cell stays a degree or two askew. Of seven textbook crystals that were disturbed and relaxed by
CHGNet, 3 had their group within 0.1 A, and 5 within 0.2 A. A wider tolerance finds too much: of 300 test structures of
MP-20 (part), 1 % have a higher group within 0.1 A than within 0.01 A, 3 % within 0.2 A, and 4 % within 0.25 A.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pipeline.crystals.crystal import Crystal, Floats, Integers, fault_of_cell

if TYPE_CHECKING:
    from moyopy import MoyoDataset

TOLERANCE = 0.1  # A
TOLERANCE_RELAXED = 0.2  # A
UNKNOWN = 0  # the number of no space group
SHORTEST_VECTOR = 2.0  # A; no known lattice has a shorter one, and below 1.2 moyopy's search may fill the memory
ONE_PLACE = 1e-3  # A; two atoms this close, after symmetry is exact, are one
DENOMINATOR = 24  # of any translation of a space group

logging.getLogger("moyo").setLevel(logging.ERROR)  # it warns of every supercell, hundreds of times in a run


@dataclass(frozen=True, eq=False)
class Symmetrised:
    """A crystal by its symmetry: the space group, its operations, and one atom of each kind of site.

    `unit` has the conventional cell, in the standard setting of the International Tables (origin choice 2, hexagonal
    axes), and the atoms of the asymmetric unit; `multiplicities` [a] says how many atoms of the cell each stands for.
    """

    number: int
    symbol: str
    operations: tuple[str, ...]
    unit: Crystal
    multiplicities: Integers


def space_group(crystal: Crystal, tolerance: float = TOLERANCE) -> int:
    """Return the number of the space group in the International Tables, from 1 to 230; 0 if it cannot be found."""
    found = _dataset(crystal, tolerance)
    return int(found.number) if found else UNKNOWN


def symmetrised(crystal: Crystal, tolerance: float = TOLERANCE) -> Symmetrised | None:
    """Return a crystal made exactly symmetric; None if its only symmetry is that of the lattice, or none is found."""
    from moyopy import HallSymbolEntry, Setting, operations_from_number

    found = _dataset(crystal, tolerance)
    if found is None or found.number == 1:
        return None
    basis, fractions = np.array(found.std_cell.basis), np.array(found.std_cell.positions)
    numbers = np.array(found.std_cell.numbers, dtype=np.int64)
    group = operations_from_number(found.number, setting=Setting.standard())
    rotations, translations = np.array(group.rotations), np.array(group.translations)
    orbits = _orbits(basis, numbers, fractions, rotations, translations)
    if orbits is None:
        return None
    first, multiplicities = np.unique(orbits, return_counts=True)
    lengths, angles = _parameters(basis)
    unit = Crystal(crystal.id, lengths, angles, numbers[first], _inside(fractions[first]))
    texts = tuple(map(_text, rotations.tolist(), translations.tolist()))
    symbol = HallSymbolEntry(found.hall_number).hm_short.replace("_", "")
    return Symmetrised(found.number, symbol, texts, unit, multiplicities)


def without_symmetry(crystal: Crystal) -> Symmetrised:
    """Return a crystal as it is, in P 1."""
    return Symmetrised(1, "P 1", ("x, y, z",), crystal, np.ones(len(crystal.numbers), dtype=np.int64))


def _dataset(crystal: Crystal, tolerance: float) -> MoyoDataset | None:
    """Return what moyopy finds; None if the cell cannot exist or is thinner than any, or if atoms share a place."""
    from moyopy import Cell, MoyoDataset, Setting

    if not len(crystal.numbers) or fault_of_cell(crystal.lengths, crystal.angles):
        return None
    lattice = crystal.structure().lattice
    if min(lattice.get_lll_reduced_lattice().abc) < SHORTEST_VECTOR:
        return None
    basis = lattice.matrix
    cell = Cell(basis.tolist(), crystal.fractions.tolist(), crystal.numbers.tolist())
    try:
        return MoyoDataset(cell, symprec=tolerance, setting=Setting.standard())
    except ValueError:  # it finds no symmetry that is one
        return None


def _orbits(
    basis: Floats, numbers: Integers, fractions: Floats, rotations: Floats, translations: Floats
) -> Integers | None:
    """Return for each atom the first one that operations carry it to; None if they carry one to where no atom is."""
    orbits = np.full(len(numbers), -1)
    for atom, place in enumerate(fractions):
        if orbits[atom] >= 0:
            continue
        images = rotations @ place + translations
        apart = images[:, None] - fractions
        distances = np.linalg.norm((apart - np.rint(apart)) @ basis, axis=-1)
        reached = distances.argmin(axis=1)
        if distances.min(axis=1).max() > ONE_PLACE or (numbers[reached] != numbers[atom]).any():
            return None
        orbits[reached] = atom
    return orbits


def _parameters(basis: Floats) -> tuple[Floats, Floats]:
    """Return the lengths, and the angles in degrees, of the rows of a basis."""
    lengths = np.linalg.norm(basis, axis=1)
    cosines = [basis[i] @ basis[j] / (lengths[i] * lengths[j]) for i, j in ((1, 2), (0, 2), (0, 1))]
    return lengths, np.degrees(np.arccos(np.clip(cosines, -1, 1)))


def _inside(fractions: Floats) -> Floats:
    """Return fractions in [0, 1), also after they are rounded to 8 decimals."""
    return np.round(fractions % 1.0, 8) % 1.0


def _text(rotation: list[list[int]], translation: list[float]) -> str:
    """Return an operation as CIF files write it, such as `-y, x-y, z+1/3`."""
    parts = []
    for row, shift in zip(rotation, translation, strict=True):
        terms = [f"{'-' if factor < 0 else '+'}{axis}" for factor, axis in zip(row, "xyz", strict=True) if factor]
        part = Fraction(shift).limit_denominator(DENOMINATOR) % 1
        parts.append("".join([*terms, f"+{part}" if part else ""]).removeprefix("+"))
    return ", ".join(parts)
