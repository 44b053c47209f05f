"""What counts as a structure and as a composition that could exist."""

import random
import warnings

import pytest
from pymatgen.core import Composition, Element
from smact.screening import smact_validity
from small_crystals import caesium_chloride, crystal, overlapping

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.validity import RULES, composition_valid, structural_valid


@pytest.mark.parametrize(
    "structure, valid",
    [
        (caesium_chloride(), True),
        (overlapping(), False),
        (crystal("one place", 4, {(0, 0, 0): 11, (1, 0, 0): 17}), False),
        (crystal("just apart", 4, {(0, 0, 0): 11, (0.126, 0, 0): 17}), True),
        (crystal("just too near", 4, {(0, 0, 0): 11, (0.124, 0, 0): 17}), False),
        (crystal("near over the face", 4, {(0.01, 0, 0): 11, (0.99, 0, 0): 17}), False),
        (crystal("own image", 4, {(0, 0, 0): 11}, lengths=[0.45, 40, 40]), False),
        (crystal("own image over the diagonal", 4, {(0, 0, 0): 11}, lengths=[5, 5, 5], angles=[2, 90, 90]), False),
        (crystal("no volume", 4, {(0, 0, 0): 11}, lengths=[0.6, 0.6, 0.2]), False),
        (crystal("no such cell", 4, {(0, 0, 0): 11}, angles=[10, 20, 150]), False),
    ],
    ids=lambda value: value.id if isinstance(value, Crystal) else str(value),
)
def test_atoms_and_their_images_must_be_more_than_half_an_angstrom_apart(structure: Crystal, valid: bool) -> None:
    assert structural_valid(structure) is valid


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "formula, valid",
    [
        ("NaCl", True),
        ("Na4Cl4", True),
        ("NaCl2", False),
        ("Al2O3", True),
        ("SrTiO3", True),
        ("Fe", True),
        ("O", True),
        ("NaK", True),  # metals alone
        ("CuAu3", True),
        ("KNa3Cl", False),
        ("HeO", False),  # no oxidation state
        ("PmCl3", False),  # no electronegativity
    ],
)
def test_compositions_of_textbooks(formula: str, valid: bool, rule: str) -> None:
    composition = {element.Z: int(count) for element, count in Composition(formula).items()}
    assert composition_valid(composition, rule) is valid


@pytest.mark.parametrize("rule, states", [("smact14", "smact14"), ("default", None)])
def test_the_rules_are_those_of_smact(rule: str, states: str | None) -> None:
    draw, found = random.Random(0), set()
    for _ in range(400):
        composition = {z: draw.randint(1, 5) for z in draw.sample(range(1, 104), draw.randint(1, 4))}
        composition[draw.choice((7, 8, 9, 16, 17, 53))] = draw.randint(1, 6)
        formula = Composition({Element.from_Z(z): count for z, count in composition.items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = smact_validity(formula, oxidation_states_set=states)
        assert composition_valid(composition, rule) is expected, formula
        found.add(expected)
    assert found == {True, False}


def test_a_composition_of_twenty_elements_is_decided_at_once() -> None:
    metals_and_halogens = [*range(21, 31), *range(39, 48), 17]
    assert composition_valid(dict.fromkeys(metals_and_halogens, 1), "smact14") is False
    assert composition_valid({**dict.fromkeys(metals_and_halogens, 1), 17: 40}, "smact14") is True


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(ValueError, match="smact14, default"):
        composition_valid({11: 1, 17: 1}, "smact15")
