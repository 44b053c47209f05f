"""Validity as the peers' code counts it."""

import itertools
import math
import random

import pytest
from pymatgen.core import Composition
from small_crystals import caesium_chloride, crystal, overlapping

from pipeline.crystals import peers
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.peers import composition_valid_peers, structural_valid_peers
from pipeline.crystals.validity import (
    composition_valid,
    electronegativities,
    only_metals,
    oxidation_states,
    structural_valid,
)

STRANGERS = [z for z in range(1, 95) if z not in electronegativities()]


def elements(formula: str) -> dict[int, int]:
    return {element.Z: int(count) for element, count in Composition(formula).items()}


def accepted(states: tuple[int, ...], values: list[float | None]) -> bool:
    """Return what becomes of a combination of ions, pair by pair; a comparison with an unknown value is an error."""
    for one, other in itertools.combinations(range(len(states)), 2):
        if states[one] * states[other] < 0:
            first, second = values[one], values[other]
            if first is None or second is None:
                return True  # the error counts as a pass
            if (first >= second) if states[one] > 0 else (first <= second):
                return False
        elif values[one] is None or values[other] is None:
            return False
    return True


def by_trying_all(composition: dict[int, int]) -> bool:
    numbers = sorted(composition)
    if len(numbers) == 1 or only_metals(numbers):
        return True
    values = [electronegativities().get(z) for z in numbers]
    states = [(-2, -1, *range(1, 9)) if z == 77 else oxidation_states("smact14")[z] for z in numbers]
    neutral = (
        each
        for each in itertools.product(*states)
        if sum(state * composition[z] for state, z in zip(each, numbers, strict=True)) == 0
    )
    return any(accepted(each, values) for each in neutral)


@pytest.mark.parametrize(
    "formula, theirs, ours",
    [
        ("NaCl", True, True),
        ("NaCl2", False, False),
        ("CuAu3", True, True),
        ("PmBr3", True, False),
        ("PmAu3", True, False),
        ("PmH3", True, False),
        ("HeO", False, False),  # no oxidation state
        ("Er6IrI10", True, False),  # iridium is -2
        ("SiPIr", True, True),
        ("Si3P3Ir", False, True),  # iridium would be -3
    ],
)
def test_elements_without_electronegativity_and_iridium_are_where_the_rules_differ(
    formula: str, theirs: bool, ours: bool
) -> None:
    composition = elements(formula)
    assert composition_valid_peers(composition) is theirs
    assert composition_valid(composition, "smact14") is ours


@pytest.mark.parametrize("stranger", [None, *STRANGERS])
def test_the_rule_is_that_of_trying_all_combinations_in_the_peers_order(stranger: int | None) -> None:
    draw, found = random.Random(stranger or 0), set()
    for _ in range(40 if stranger else 300):
        numbers = {*draw.sample(range(1, 95), draw.randint(1, 3)), draw.choice((7, 8, 9, 16, 17, 77))}
        numbers |= {stranger} if stranger else set()
        counts = {z: draw.randint(1, 5) for z in sorted(numbers)}
        composition = {z: count // math.gcd(*counts.values()) for z, count in counts.items()}
        expected = by_trying_all(composition)
        assert composition_valid_peers(composition) is expected, composition
        found.add(expected)
    assert False in found


def test_multiples_of_a_formula_are_valid_alike() -> None:
    assert composition_valid_peers({61: 4, 35: 12}) is composition_valid_peers({61: 1, 35: 3}) is True


def test_too_many_combinations_are_not_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    salt = elements("MnCl2")
    assert composition_valid_peers(salt)
    combinations = math.prod(len(oxidation_states("smact14")[z]) for z in salt)
    for most, valid in ((combinations, True), (combinations - 1, False)):
        monkeypatch.setattr(peers, "MOST_COMBINATIONS", most)
        peers._valid.cache_clear()
        assert composition_valid_peers(salt) is valid
    peers._valid.cache_clear()


@pytest.mark.parametrize(
    "structure, theirs, ours",
    [
        (caesium_chloride(), True, True),
        (overlapping(), False, False),
        (crystal("half an angstrom", 4, {(0, 0, 0): 11, (0.125, 0, 0): 17}), True, False),
        (crystal("just too near", 4, {(0, 0, 0): 11, (0.124, 0, 0): 17}), False, False),
        (crystal("near over the face", 4, {(0.01, 0, 0): 11, (0.99, 0, 0): 17}), False, False),
        (crystal("own image", 4, {(0, 0, 0): 11}, lengths=[0.45, 40, 40]), True, False),
        (crystal("no volume", 4, {(0, 0, 0): 11}, lengths=[0.6, 0.6, 0.2]), False, False),
        (crystal("no such cell", 4, {(0, 0, 0): 11}, angles=[10, 20, 150]), False, False),
    ],
    ids=lambda value: value.id if isinstance(value, Crystal) else str(value),
)
def test_atoms_at_half_an_angstrom_and_own_images_are_where_the_rules_differ(
    structure: Crystal, theirs: bool, ours: bool
) -> None:
    assert structural_valid_peers(structure) is theirs
    assert structural_valid(structure) is ours
