"""What counts as a structure and as a composition that could exist."""

import random
import warnings

import numpy as np
import pytest
from pymatgen.core import Composition, Element
from smact.screening import smact_validity
from small_crystals import caesium_chloride, crystal, overlapping

from pipeline.crystals.crystal import Crystal, fault_of_cell
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
        (crystal("half an angstrom", 5, {(0, 0, 0): 11, (0.1, 0, 0): 17}), False),
        (crystal("huge", 900, {(0, 0, 0): 11, (0.5, 0.5, 0.5): 17}), True),
        (crystal("huge, near over an edge", 1000, {(0.0002, 0.0002, 0): 11, (0.9999, 0.9999, 0): 17}), False),
    ],
    ids=lambda value: value.id if isinstance(value, Crystal) else str(value),
)
def test_atoms_and_their_images_must_be_more_than_half_an_angstrom_apart(structure: Crystal, valid: bool) -> None:
    assert structural_valid(structure) is valid


def test_neighbours_are_those_of_pymatgen_in_cells_of_every_shape() -> None:
    draw, found = np.random.default_rng(0), []
    while len(found) < 150:
        lengths, angles = draw.integers(3, 60, 3) / 10, draw.integers(1, 180, 3).astype(float)
        if fault_of_cell(lengths, angles):
            continue
        atoms = draw.integers(0, 100, (draw.integers(1, 6), 3)) / 100
        structure = Crystal("", lengths, angles, np.full(len(atoms), 11), atoms).structure()
        near, *_ = structure.get_neighbor_list(0.5, exclude_self=False)
        expected = len(near) == len(structure) and structure.volume >= 0.1
        assert structural_valid(Crystal.of("", structure)) is expected, structure
        found.append(expected)
    assert 20 < sum(found) < 130


@pytest.mark.parametrize(
    "lengths, angles, fault",
    [
        ([4, 4, 4], [90, 90, 90], ""),
        ([4, 4, 4], [1, 1, 1], ""),
        ([4, 4, 4], [119.9, 120, 120], ""),
        ([4, 4, 4], [120, 120, 120], "do not close"),
        ([4, 4, 4], [100, 120, 150], "do not close"),
        ([4, 4, 4], [30, 60, 90], "do not close"),
        ([4, 4, 4], [30, 60.00005, 90], "do not close"),
        ([4, 4, 4], [30, 60, 90.00000001], "do not close"),
        ([4, 4, 4], [10, 130, 90], "do not close"),
        ([4, 4, 4], [0, 90, 90], "between 0 and 180"),
        ([4, 4, 4], [90, 180, 90], "between 0 and 180"),
        ([4, 4, 4], [-60, 60, 60], "between 0 and 180"),
        ([0, 4, 4], [90, 90, 90], "not above zero"),
        ([4, -4, 4], [90, 90, 90], "not above zero"),
        ([4, np.nan, 4], [90, 90, 90], "not finite"),
        ([4, 4, 4], [90, np.inf, 90], "not finite"),
        ([1e-200, 1e-200, 4], [90, 90, 90], "zero or infinite"),
        ([1e200, 1e200, 4], [90, 90, 90], "more than 1,000 A"),
    ],
)
def test_a_cell_that_cannot_exist_is_a_value_error(lengths: list[float], angles: list[float], fault: str) -> None:
    structure = crystal("", 4, {(0, 0, 0): 11}, lengths=lengths, angles=angles)
    assert fault in fault_of_cell(structure.lengths, structure.angles)
    if fault:
        with pytest.raises(ValueError, match=fault):
            structure.structure()
    else:
        assert structure.structure().volume > 0


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
