"""Energies of crystals as they are, without relaxation, by any energy model, in worker processes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import NoNeighbours, UnknownElements, atoms_of
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.workers import run_tasks
from pipeline.store.journal import Journal

if TYPE_CHECKING:  # importing ase takes a second, and most commands do not need it
    from ase.calculators.calculator import Calculator


def static_energies(
    model: EnergyModel,
    crystals: Sequence[Crystal],
    *,
    workers: int,
    seconds: float,
    label: str,
    finished: Journal | None = None,
) -> list[tuple[float, str]]:
    """Return the energy of each crystal in eV/atom with corrections, or NaN and the reason why there is none."""
    tasks = run_tasks(
        partial(static_energy, model=model),
        crystals,
        workers=workers,
        seconds=seconds,
        label=label,
        initialise=partial(model.load, "cpu"),
        finished=finished,
    )
    found = dict(tasks)
    values = [found[place].value or (math.nan, found[place].reason) for place in range(len(crystals))]
    return [(float(energy), reason) for energy, reason in values]


def static_energy(calculator: Calculator, crystal: Crystal, *, model: EnergyModel) -> tuple[float, str]:
    """Return the energy of a crystal in eV/atom with corrections, or NaN and the reason why there is none."""
    try:
        energy = float(atoms_of(crystal, calculator).get_potential_energy()) / len(crystal.numbers)
    except NoNeighbours:
        return math.nan, "atoms without neighbours"
    except UnknownElements as error:
        return math.nan, str(error)
    return model.energy(crystal, energy) if math.isfinite(energy) else (math.nan, "energy not finite")
