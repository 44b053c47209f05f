"""Energies of crystals relative to the elements.

All energies are those of the Materials Project's DFT, PBE and PBE+U with the corrections of 2020, or of a model of it.

The reference energies of the elements are rounded to 0.01 eV/atom. So a formation energy, and with it an energy above
the hull, is uncertain by up to 0.005 eV/atom, before any error of the model or of DFT. The points of the hull are relative
to references that are not rounded: within 5 meV/atom of the hull, rounding alone can decide whether E_hull < 0.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.crystals.crystal import Crystal

if TYPE_CHECKING:  # importing torch and ase takes seconds, and most commands do not need them
    from ase import Atoms
    from ase.calculators.calculator import Calculator

METASTABLE = 0.1  # eV/atom; a crystal up to this far above the hull may well exist
ELEMENTS = Path(__file__).parent / "reference" / "elemental_energies.json"


class NoNeighbours(ValueError):
    """Atoms that no other atom is near: an energy model knows nothing about such a structure."""


class UnknownElements(ValueError):
    """Elements that an energy model has never seen."""


def atoms_of(crystal: Crystal, calculator: Calculator) -> Atoms:
    """Return a crystal as ase atoms with a calculator; raise a ValueError if its cell cannot exist."""
    from ase import Atoms

    matrix = crystal.structure().lattice.matrix
    return Atoms(crystal.numbers, scaled_positions=crystal.fractions, cell=matrix, pbc=True, calculator=calculator)


def formation_energy(numbers: Sequence[int], energy_per_atom: float) -> tuple[float, str]:
    """Return the formation energy in eV/atom of atoms Z, or NaN and the reason why there is none.

    E_f = E - sum_Z x_Z E_Z, with the shares x_Z of the elements and their reference energies E_Z.
    """
    references, counts = elemental_energies(), Counter(int(number) for number in numbers)
    if unknown := sorted(set(counts) - set(references)):
        return math.nan, f"no elemental reference for {symbols_of(unknown)}"
    if not counts:
        return math.nan, "no atoms"
    mean = sum(count * references[number] for number, count in counts.items()) / sum(counts.values())
    return float(energy_per_atom) - mean, ""


@cache
def elemental_energies() -> dict[int, float]:
    """Return the reference energy in eV/atom of each Z."""
    record = json.loads(ELEMENTS.read_text(encoding="utf-8"))
    return {int(number): energy for number, energy in record["energies"].items()}


def symbols_of(numbers: Sequence[int]) -> str:
    """Return the symbols of atomic numbers, such as `Np, Pu`."""
    from pymatgen.core import Element

    return ", ".join(str(Element.from_Z(number).symbol) for number in numbers)
