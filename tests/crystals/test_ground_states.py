"""Textbook ground states are on the hull of the energy model's own scale, and other polymorphs are above it."""

from functools import cache
from typing import Any

import pytest
from pymatgen.core import Lattice, Structure

from pipeline.config import EnergyModelChoice
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.reference_energies import model_hull, table_of
from pipeline.crystals.relaxation import relax
from pipeline.crystals.verdicts import STABLE, WITHIN, Scale, place

pytestmark = pytest.mark.skipif(table_of("chgnet") is None, reason="no table of reference energies of chgnet")

OLIVINE = {
    "Li": [0, 0, 0],
    "Fe": [0.282, 0.25, 0.975],
    "P": [0.095, 0.25, 0.418],
    "O": [[0.097, 0.25, 0.743], [0.457, 0.25, 0.206], [0.166, 0.046, 0.285]],
}
CORUNDUM = Lattice.hexagonal(4.81, 13.12)


def cubic(group: str, length: float, *sites: tuple[str, list[float]]) -> Structure:
    symbols, places = zip(*sites, strict=True)
    structure: Structure = Structure.from_spacegroup(group, Lattice.cubic(length), symbols, places)
    return structure.get_primitive_structure()


ORIGIN, QUARTER, CENTRE = [0.0, 0.0, 0.0], [0.25, 0.25, 0.25], [0.5, 0.5, 0.5]
GROUND_STATES = {
    "NaCl": lambda: cubic("Fm-3m", 5.69, ("Na", ORIGIN), ("Cl", CENTRE)),
    "Si": lambda: cubic("Fd-3m", 5.47, ("Si", ORIGIN)),
    "SrTiO3": lambda: cubic("Pm-3m", 3.94, ("Sr", ORIGIN), ("Ti", CENTRE), ("O", [0.5, 0.5, 0.0])),
    "MgO": lambda: cubic("Fm-3m", 4.25, ("Mg", ORIGIN), ("O", CENTRE)),
    "GaAs": lambda: cubic("F-43m", 5.75, ("Ga", ORIGIN), ("As", QUARTER)),
    "Fe": lambda: cubic("Im-3m", 2.84, ("Fe", ORIGIN)),
    "Al2O3": lambda: Structure.from_spacegroup(
        "R-3c", CORUNDUM, ["Al", "O"], [[0, 0, 0.352], [0.306, 0, 0.25]]
    ).get_primitive_structure(),
    "LiFePO4": lambda: Structure.from_spacegroup(
        "Pnma",
        Lattice.orthorhombic(10.33, 6.01, 4.69),
        ["Li", "Fe", "P", "O", "O", "O"],
        [OLIVINE["Li"], OLIVINE["Fe"], OLIVINE["P"], *OLIVINE["O"]],
    ),
}
POLYMORPHS = {
    "NaCl as CsCl": lambda: cubic("Pm-3m", 3.5, ("Na", ORIGIN), ("Cl", CENTRE)),
    "Si, simple cubic": lambda: cubic("Pm-3m", 2.53, ("Si", ORIGIN)),
    "GaAs as rock salt": lambda: cubic("Fm-3m", 5.3, ("Ga", ORIGIN), ("As", CENTRE)),
}


@cache
def tools() -> tuple[Any, EnergyModel, Scale]:
    model = EnergyModel.of(EnergyModelChoice(name="chgnet"))
    return model.load("cpu"), model, Scale(model.name, model_hull(model.name))


def verdict(structure: Structure) -> tuple[float, str]:
    """Relax a structure as the product does; return its energy above the hull and the verdict."""
    calculator, model, scale = tools()
    row = relax(calculator, Crystal.of("one", structure), model=model, steps=500, force=0.1)
    assert row["converged"]
    found = place(row["numbers"], row["energy_per_atom"], scale, None)
    assert found.reason == ""
    return found.above, found.verdict


@pytest.mark.parametrize("name", GROUND_STATES)
def test_a_ground_state_is_on_the_models_own_hull(name: str) -> None:
    above, words = verdict(GROUND_STATES[name]())
    assert abs(above) < 0.01
    assert words in (STABLE, WITHIN)


@pytest.mark.parametrize("name", POLYMORPHS)
def test_a_polymorph_of_high_energy_is_above_it(name: str) -> None:
    above, words = verdict(POLYMORPHS[name]())
    assert above > 0.02
    assert words != STABLE
