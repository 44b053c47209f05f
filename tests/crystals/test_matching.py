"""Which crystals are unlike those before them and unlike the training set."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from small_crystals import caesium_chloride, crystal, rock_salt

from pipeline.crystals import matching
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.matching import Match, Matcher, first_places, match_crystals
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


def matches_of(crystals: Sequence[Crystal | None], train: Sequence[Crystal] = ()) -> list[Match]:
    return match_crystals(crystals, train, workers=1, seconds=60)


def unique_flags(crystals: Sequence[Crystal | None]) -> list[bool]:
    unique = first_places(matches_of(crystals), range(len(crystals)))
    return [place in unique for place in range(len(crystals))]


def novel_flags(crystals: Sequence[Crystal | None], train: Sequence[Crystal]) -> list[bool]:
    return [match.novel for match in matches_of(crystals, train)]


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


def test_a_copy_shares_the_match_of_its_original_and_a_cell_that_cannot_be_has_a_reason() -> None:
    matches = matches_of([caesium_chloride(), None, MOVED, rock_salt(), NO_CELL, caesium_chloride("copy")])
    assert "cannot be reduced" in matches[4].reason
    assert matches[5] == matches[0]


def test_a_crystal_that_cannot_be_matched_in_time_is_neither_unique_nor_novel(monkeypatch: pytest.MonkeyPatch) -> None:
    late = [(1, Outcome(None, "time limit (60 s)")), (0, Outcome(Match(0, (), True), ""))]
    monkeypatch.setattr(matching, "run_tasks", lambda *arguments, **settings: iter(late))
    matches = match_crystals([caesium_chloride(), None, rock_salt()], [], workers=1, seconds=60)
    assert [match.novel for match in matches] == [True, False, False]
    assert [match.reason for match in matches] == ["", "", "time limit (60 s)"]
    assert first_places(matches, range(3)) == {0}


def chain(order: str) -> list[Match]:
    """Return matches of a, b and c in some order, where a is like b, b like c, and c unlike a."""
    like = {"a": "b", "b": "ac", "c": "b"}
    return [
        Match(place, tuple(before for before in range(place) if order[before] in like[name]))
        for place, name in enumerate(order)
    ]


def test_the_number_of_kinds_does_not_depend_on_the_order() -> None:
    for order in map("".join, permutations("abc")):
        matches = chain(order)
        assert first_places(matches, range(3)) == {0}, order
        apart = [place for place, name in enumerate(order) if name != "b"]
        assert first_places(matches, apart) == set(apart), order


def test_what_is_not_among_the_chosen_takes_nothing_away_from_copies_of_it() -> None:
    copies = matches_of([caesium_chloride(), MOVED, caesium_chloride(), LARGER])
    assert first_places(copies, [2, 3]) == {2}
    assert first_places(copies, [1, 2]) == {1}
    assert first_places(copies, [3]) == {3}
    assert first_places(copies, []) == set()


def test_a_crystal_that_could_not_be_matched_takes_nothing_away_from_others_like_it() -> None:
    matches = [Match(reason="time limit (60 s)"), Match(1, (0,)), Match(2, (0, 1))]
    assert first_places(matches, range(3)) == {1}


def test_which_of_two_crystals_is_the_first_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher, pairs = Matcher(), []
    monkeypatch.setattr(matcher._matcher, "fit", lambda *pair, **settings: pairs.append(pair) or True)
    assert matcher.same(MOVED, LARGER)
    assert matcher.same(LARGER, MOVED)
    assert pairs[0] == pairs[1]
