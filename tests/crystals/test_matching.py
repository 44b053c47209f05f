"""Which crystals are unlike those before them and unlike the training set."""

import numpy as np
import pytest
from small_crystals import caesium_chloride, crystal, rock_salt

from pipeline.crystals import matching
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.matching import Match, match_crystals, novel_flags, unique_flags
from pipeline.crystals.workers import Outcome

MOVED = crystal("moved", 4.12, {(0.25, 0.25, 0.25): 55, (0.75, 0.75, 0.75): 17})
LARGER = caesium_chloride("larger", length=4.4)
NO_CELL = crystal("no such cell", 4, {(0, 0, 0): 55, (0.5, 0.5, 0.5): 17}, angles=[10, 20, 150])


def doubled(structure: Crystal) -> Crystal:
    """Return the same crystal in a cell of twice the length along one side."""
    halves = structure.fractions * [0.5, 1, 1]
    return Crystal(
        "doubled",
        structure.lengths * [2, 1, 1],
        structure.angles,
        np.concatenate([structure.numbers, structure.numbers]),
        np.concatenate([halves, np.add(halves, [0.5, 0, 0])]),
    )


def test_the_first_of_equal_crystals_is_unique() -> None:
    salt = rock_salt("CsCl as rock salt", length=4.9, numbers=(55, 17))
    crystals = [caesium_chloride(), MOVED, salt, LARGER, doubled(caesium_chloride()), rock_salt()]
    assert unique_flags(crystals) == [True, False, True, False, False, True]


def test_what_is_no_crystal_is_neither_unique_nor_novel() -> None:
    assert unique_flags([None, caesium_chloride(), NO_CELL]) == [False, True, False]
    assert novel_flags([None, NO_CELL, rock_salt()], [caesium_chloride()]) == [False, False, True]


def test_a_crystal_after_one_without_a_cell_is_still_compared() -> None:
    assert unique_flags([NO_CELL, caesium_chloride(), MOVED]) == [False, True, False]


def test_novel_is_what_the_training_set_does_not_have() -> None:
    other_elements = caesium_chloride("CsBr", numbers=(55, 35))
    train = [rock_salt("CsCl as rock salt", length=4.9, numbers=(55, 17)), doubled(rock_salt())]
    crystals = [caesium_chloride(), other_elements, rock_salt(), rock_salt()]
    assert novel_flags(crystals, train) == [True, True, False, False]
    assert novel_flags(crystals, []) == [True] * 4


def test_workers_find_the_same() -> None:
    crystals = [caesium_chloride(), None, MOVED, rock_salt(), NO_CELL]
    matches = match_crystals(crystals, [rock_salt()], workers=1, seconds=60)
    assert [match.unique for match in matches] == unique_flags(crystals)
    assert [match.novel for match in matches] == novel_flags(crystals, [rock_salt()])
    assert "cannot be reduced" in matches[4].reason


def test_a_crystal_that_cannot_be_matched_in_time_is_neither_unique_nor_novel(monkeypatch: pytest.MonkeyPatch) -> None:
    late = [(1, Outcome(None, "time limit (60 s)")), (0, Outcome(Match(True, True), ""))]
    monkeypatch.setattr(matching, "run_tasks", lambda *arguments, **settings: iter(late))
    matches = match_crystals([caesium_chloride(), None, rock_salt()], [], workers=1, seconds=60)
    assert matches == [Match(True, True), Match(False, False), Match(False, False, "time limit (60 s)")]
