"""Formation energies and the corrections that make energies comparable."""

import math

import pytest
from pymatgen.analysis.compatibility import MaterialsProject2020Compatibility
from pymatgen.core import Composition
from pymatgen.entries.computed_entries import ComputedEntry

from pipeline.crystals.corrections import change_of_2020, corrected_energy
from pipeline.crystals.energies import elemental_energies, formation_energy


def test_a_formation_energy_is_relative_to_the_shares_of_the_elements() -> None:
    references = elemental_energies()
    value, reason = formation_energy([11, 17, 17], -3.0)
    assert value == pytest.approx(-3.0 - (references[11] + 2 * references[17]) / 3)
    assert reason == ""


@pytest.mark.parametrize("number", [1, 26, 94])
def test_an_element_at_its_reference_has_no_formation_energy(number: int) -> None:
    assert formation_energy([number] * 3, elemental_energies()[number]) == (pytest.approx(0), "")


@pytest.mark.parametrize(("numbers", "reason"), [([85, 11, 86], "no elemental reference for At, Rn"), ([], "no atoms")])
def test_what_has_no_reference_has_a_reason(numbers: list[int], reason: str) -> None:
    value, why = formation_energy(numbers, -1.0)
    assert math.isnan(value)
    assert why == reason


def entry(formula: str, energy: float, **parameters: object) -> ComputedEntry:
    return ComputedEntry(formula, energy, parameters={"run_type": "GGA", "hubbards": {}, **parameters})


def test_corrections_replace_those_that_an_entry_has() -> None:
    salt = entry("NaCl", -6.0)
    once, _ = corrected_energy(salt)
    assert once == pytest.approx((-6.0 - 0.614) / 2)
    assert salt.correction == 0  # the entry is left alone
    processed = MaterialsProject2020Compatibility(check_potcar=False).process_entry(salt, inplace=False)
    assert processed is not None
    assert corrected_energy(processed)[0] == pytest.approx(once)


@pytest.mark.parametrize(
    "wrong",
    [
        entry("Fe2O3", -30.0),
        entry("NaCl", -6.0, run_type="R2SCAN"),
        entry("NaCl", -6.0, potcar_symbols=["PAW_PBE Na_sv 28Sep2000", "PAW_PBE Cl 17Jan2003"]),
    ],
    ids=["no U", "another functional", "another potential"],
)
def test_an_entry_that_cannot_be_mixed_has_a_reason(wrong: ComputedEntry) -> None:
    energy, reason = corrected_energy(wrong)
    assert math.isnan(energy)
    assert reason.startswith("incompatible: ")


def test_the_named_potentials_of_the_materials_project_are_accepted() -> None:
    salt = entry("NaCl", -6.0, potcar_symbols=["PAW_PBE Na_pv 05Jan2001", "PAW_PBE Cl 17Jan2003"])
    assert corrected_energy(salt)[1] == ""


@pytest.mark.parametrize(
    ("formula", "change"),
    [
        ("NiAl", 0.0),
        ("MgO", (0.70229 - 0.687) / 2),
        ("ZnS", (0.66346 - 0.503) / 2),
        ("KBr", -0.534 / 2),  # was not corrected
        ("NaCl", (-0.614 - 1.25385097674 + 1.85) / 2),  # was corrected by the energy of chlorine
        ("Fe2O3", (2 * (2.733 - 2.256) + 3 * (0.70229 - 0.687)) / 5),
        ("CaSeO4", 4 * (0.70229 - 0.687) / 6),  # selenium is no anion here
        ("BiOCl", ((0.70229 - 0.687) - 0.614 - 1.25385097674 + 1.85) / 3),  # but chlorine is here
    ],
)
def test_the_change_of_corrections_is_what_the_two_schemes_say(formula: str, change: float) -> None:
    assert change_of_2020(Composition(formula)) == pytest.approx(change, abs=1e-9)
