"""Why a relaxation must be given up: cells and energies that no energy model knows anything about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipeline.crystals.energies import formation_energy

if TYPE_CHECKING:  # importing ase takes a second, and most commands do not need it
    from ase import Atoms

VOLUME_FACTOR = 4.0  # more growth or shrinkage than this is no relaxation
CLOSEST_PACKING = 2.0  # A^3 per atom; in less (metallic hydrogen) the graph of neighbours outgrows any memory
LOOSEST_PACKING = 1e6  # A^3 per atom; in more, no atom has a neighbour, and the search for one outgrows any memory
SHORTEST_BOND = 0.5  # A; H2 has 0.74
LOWEST_FORMATION_ENERGY = -6.0  # eV/atom; the lowest known is -4.6 (fluorides)
ENERGY_RANGE = (-20.0, 20.0)  # eV/atom; the elements have 0 to -14.3


def wrong_density(atoms: Atoms) -> str:
    """Return why a cell is too small or too large for its atoms, or ''."""
    room = atoms.get_volume() / len(atoms)
    return "" if CLOSEST_PACKING <= room <= LOOSEST_PACKING else f"exploded: {room:.2g} A^3 an atom"


def explosion(atoms: Atoms, volume: float) -> str:
    """Return why a relaxation that started at `volume` must be given up, or ''."""
    energy, forces = atoms.get_potential_energy(), atoms.get_forces()
    if not (np.isfinite(energy) and np.isfinite(forces).all() and np.isfinite(atoms.cell.array).all()):
        return "exploded: energy or forces are not finite"
    growth = atoms.get_volume() / volume
    if not 1 / VOLUME_FACTOR < growth < VOLUME_FACTOR:
        return f"exploded: {growth:.2g} times the volume"
    return wrong_density(atoms)


def absurdity(atoms: Atoms, energy: float) -> str:
    """Return why a relaxed crystal is impossible, or ''; energy models know nothing about such crystals."""
    if len(atoms) > 1:
        distances = atoms.get_all_distances(mic=True)
        closest = distances[np.triu_indices(len(atoms), 1)].min()
        if closest < SHORTEST_BOND:
            return f"exploded: atoms {closest:.2g} A apart"
    formed, unknown = formation_energy(atoms.numbers.tolist(), energy)
    if not unknown and formed < LOWEST_FORMATION_ENERGY:
        return f"exploded: a formation energy of {formed:.3g} eV/atom"
    if not ENERGY_RANGE[0] < energy < ENERGY_RANGE[1]:
        return f"exploded: an energy of {energy:.3g} eV/atom"
    return ""
