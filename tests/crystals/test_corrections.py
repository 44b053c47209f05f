"""Corrections against values worked out by hand from the published scheme (A. Wang et al., Sci. Rep. 11, 15496, 2021).

The scheme adds a figure for each atom of an anion, and one for each metal with a Hubbard U in an oxide or a fluoride.
"""

import math

import numpy as np
import pytest
from small_crystals import crystal, rock_salt

from pipeline.crystals.corrections import SCHEME, corrected, corrected_energy, parameters_of
from pipeline.crystals.crystal import Crystal

OXIDE, PEROXIDE, SUPEROXIDE, OZONIDE = -0.687, -0.465, -0.161, 0.0
BY_FORMULA = {
    "MgO": OXIDE / 2,
    "Al2O3": 3 * OXIDE / 5,
    "SrTiO3": 3 * OXIDE / 5,  # titanium has no U
    "Li2O2": 2 * PEROXIDE / 4,
    "BaO2": 2 * PEROXIDE / 3,  # of Ba2+ and a peroxide ion
    "KO2": 2 * SUPEROXIDE / 3,
    "KO3": 3 * OZONIDE / 4,
    "ZnS": -0.503 / 2,
    "FeS2": 2 * -0.503 / 3,  # a polysulfide is corrected as a sulfide, and iron has a U in oxides and fluorides only
    "NaCl": -0.614 / 2,
    "CaF2": 2 * -0.462 / 3,
    "KBr": -0.534 / 2,
    "CsI": -0.379 / 2,
    "GaN": -0.361 / 2,
    "CdSe": -0.472 / 2,
    "PbTe": -0.422 / 2,
    "GaSb": -0.192 / 2,
    "Mg2Si": 0.071 / 3,
    "LiH": -0.179 / 2,
    "GaAs": 0.0,  # arsenic has no figure
    "NiAl": 0.0,
    "Fe": 0.0,
    "Fe2O3": (3 * OXIDE + 2 * -2.256) / 5,
    "MnO": (OXIDE - 1.668) / 2,
    "NiF2": (2 * -0.462 - 2.541) / 3,
    "LiFePO4": (4 * OXIDE - 2.256) / 7,  # phosphorus is no anion
    "WO3": (3 * OXIDE - 4.438) / 4,
    "V2O5": (5 * OXIDE + 2 * -1.700) / 7,
    "BiOCl": (OXIDE - 0.614) / 3,  # two anions
    "CaSO4": (-0.503 + 4 * OXIDE) / 6,  # without a structure, sulfur in a sulfate passes for a sulfide
    "Fe2OF4": (OXIDE + 4 * -0.462 + 2 * -2.256) / 7,  # the U of fluorides: fluorine is more electronegative
    "CrN": -0.361 / 2,  # no U in a nitride
    "NbTe4": 4 * -0.422 / 5,  # tellurium at less than one electron each is an anion
}


def cell_of(formula: str) -> Crystal:
    """Return atoms of a formula on a line, 3 A apart: far enough not to be bonded."""
    from pymatgen.core import Composition

    numbers = [element.Z for element, amount in Composition(formula).items() for _ in range(int(amount))]
    places = np.array([[(place + 0.5) / len(numbers), 0, 0] for place in range(len(numbers))])
    return Crystal(formula, np.array([3.0 * len(numbers), 6, 6]), np.full(3, 90.0), np.array(numbers), places)


@pytest.mark.parametrize("formula", BY_FORMULA)
def test_a_formula_gets_the_published_corrections(formula: str) -> None:
    from pymatgen.core import Composition
    from pymatgen.entries.computed_entries import ComputedEntry

    composition = Composition(formula)
    entry = ComputedEntry(composition, -3.0 * composition.num_atoms, parameters=parameters_of(composition))
    energy, reason = corrected_energy(entry)
    assert (energy, reason) == (pytest.approx(-3.0 + BY_FORMULA[formula], abs=1e-9), "")


BONDED = ("Li2O2", "BaO2", "KO2", "KO3", "CaSO4")  # what they are depends on the structure


@pytest.mark.parametrize("formula", [formula for formula in BY_FORMULA if formula not in BONDED])
def test_a_structure_gets_the_same(formula: str) -> None:
    assert corrected(cell_of(formula), -3.0) == (pytest.approx(-3.0 + BY_FORMULA[formula], abs=1e-9), "")


@pytest.mark.parametrize(
    ("apart", "correction"), [(1.28, 2 * SUPEROXIDE / 3), (1.45, 2 * PEROXIDE / 3), (3.0, 2 * OXIDE / 3)]
)
def test_the_bond_between_oxygen_atoms_tells_peroxides_superoxides_and_oxides_apart(
    apart: float, correction: float
) -> None:
    pair = crystal("pair", 6.0, {(0, 0, 0): 56, (0.5, 0.5, 0.4): 8, (0.5, 0.5, 0.4 + apart / 6): 8})
    assert corrected(pair, -5.0) == (pytest.approx(-5.0 + correction), "")


def test_sulfur_among_oxygen_is_no_sulfide() -> None:
    arm = 1.48 / 3**0.5 / 6  # a tetrahedron with bonds of 1.48 A
    ends = [(arm, arm, arm), (arm, -arm, -arm), (-arm, arm, -arm), (-arm, -arm, arm)]
    places = {(0.5 + x, 0.5 + y, 0.5 + z): 8 for x, y, z in ends}
    sulfate = crystal("CaSO4", 6.0, {(0, 0, 0): 20, (0.5, 0.5, 0.5): 16} | places)
    assert corrected(sulfate, -6.0) == (pytest.approx(-6.0 + 4 * OXIDE / 6), "")


def test_all_multiples_of_a_cell_get_the_same_correction() -> None:
    one, two = cell_of("Fe2O3"), cell_of("Fe4O6")
    assert corrected(one, -7.0)[0] == pytest.approx(corrected(two, -7.0)[0])


def test_noble_gases_and_energies_that_are_none_do_no_harm() -> None:
    assert corrected(rock_salt(numbers=(18, 18)), -0.1) == (pytest.approx(-0.1), "")
    assert math.isnan(corrected(rock_salt(), math.nan)[0])
    assert SCHEME
