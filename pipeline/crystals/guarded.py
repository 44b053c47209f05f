"""A calculator that refuses what its energy model knows nothing about."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from pymatgen.optimization.neighbors import find_points_in_spheres

from pipeline.crystals.energies import NoNeighbours, UnknownElements, symbols_of

PERIODIC = np.ones(3, dtype=np.int64)
SAME_PLACE = 1e-8  # A


class Guarded(Calculator):
    """Another calculator's energies, forces and stresses; an error for unknown elements and for lone atoms.

    Most models give an atom without neighbours the energy of its element alone. They have never seen one.
    """

    implemented_properties = ["energy", "free_energy", "forces", "stress"]  # noqa: RUF012

    def __init__(self, inner: Calculator, *, cutoff: float, elements: Collection[int]) -> None:
        super().__init__()
        self.inner, self.cutoff, self.elements = inner, cutoff, frozenset(elements)

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: Sequence[str] | None = None,
        system_changes: Sequence[str] = all_changes,
    ) -> None:
        """Compute all results for the atoms."""
        super().calculate(atoms, properties, system_changes)
        if unknown := sorted(set(self.atoms.numbers.tolist()) - self.elements):
            raise UnknownElements(f"the energy model does not know {symbols_of(unknown)}")
        require_neighbours(self.atoms, self.cutoff)
        found: dict[str, Any] = {}
        for name in self.implemented_properties:
            source = "energy" if name == "free_energy" else name
            found[name] = self.inner.get_property(source, self.atoms)
        self.results = found


def require_neighbours(atoms: Atoms, cutoff: float) -> None:
    """Raise a NoNeighbours error if an atom has no other atom, or image, within the cutoff (A)."""
    places, cell = np.ascontiguousarray(atoms.positions), np.ascontiguousarray(atoms.cell.array)
    center, other, image, _ = find_points_in_spheres(places, places, cutoff, PERIODIC, cell, tol=SAME_PLACE)
    with_one = np.unique(center[(center != other) | image.any(axis=1)])
    if alone := len(atoms) - len(with_one):
        raise NoNeighbours(f"{alone} of {len(atoms)} atoms have no other within {cutoff:g} A")
