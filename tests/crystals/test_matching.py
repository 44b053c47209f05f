"""Which crystals are unlike those before them and unlike the training set."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymatgen.analysis.structure_matcher import StructureMatcher
from small_crystals import caesium_chloride, crystal, rock_salt

from pipeline.crystals import comparing
from pipeline.crystals.alignment import same_crystal
from pipeline.crystals.comparing import Question, answer
from pipeline.crystals.crystal import Crystal, key_of
from pipeline.crystals.matching import Match, Matches, first_places, kinds_of, match_crystals
from pipeline.crystals.reduction import reduced_cell
from pipeline.crystals.workers import Outcome
from pipeline.store.journal import Journal

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


def pymatgen_says(first: Crystal, second: Crystal) -> bool:
    """Return the verdict of pymatgen's own matcher."""
    pair = [crystal.structure() for crystal in sorted((first, second), key=key_of)]
    reduced = [one.get_reduced_structure().get_primitive_structure() for one in pair]
    return len(reduced[0]) == len(reduced[1]) and bool(StructureMatcher().fit(*reduced, skip_structure_reduction=True))


def same(first: Crystal, second: Crystal) -> bool:
    """Return our verdict."""
    return same_crystal(*(reduced_cell(crystal) for crystal in sorted((first, second), key=key_of)))


def variants(draw: np.random.Generator) -> list[Crystal]:
    """Return crystals of one formula: as it is, shaken a little and a lot, in larger cells, and at random places."""
    spread = {(0, 0, 0): 38, (0.5, 0.5, 0.5): 22, (0.5, 0.5, 0): 8, (0.5, 0, 0.5): 8, (0, 0.5, 0.5): 8}
    sides = draw.integers(36, 48, 3) / 10
    plain = crystal("plain", 0, spread, lengths=sides, angles=draw.integers(80, 101, 3).astype(float))
    random = Crystal("random", sides, plain.angles, plain.numbers, draw.integers(0, 12, (5, 3)) / 12)
    return [plain, doubled(plain), random, doubled(random), *(shaken(plain, size, draw) for size in (0.02, 0.06, 0.12))]


def shaken(structure: Crystal, size: float, draw: np.random.Generator) -> Crystal:
    """Return a crystal with atoms and sides moved at random, in a cell of twice the volume if luck will have it."""
    moved = structure.fractions + draw.normal(0, size, structure.fractions.shape)
    lengths = structure.lengths * draw.uniform(1 - size, 1 + size, 3)
    angles = structure.angles + draw.uniform(-40 * size, 40 * size, 3)
    other = Crystal("shaken", lengths, angles, structure.numbers, moved)
    return doubled(other) if draw.random() < 0.5 else other


def test_reduced_cells_are_those_of_pymatgen_to_the_last_digit() -> None:
    draw, smaller = np.random.default_rng(0), 0
    for structure in [one for _ in range(12) for one in variants(draw)] + [doubled(doubled(rock_salt()))]:
        expected = structure.structure().get_reduced_structure().get_primitive_structure()
        found = reduced_cell(structure)
        assert found.numbers.tolist() == list(expected.atomic_numbers)
        assert (found.lattice.matrix == expected.lattice.matrix).all()
        assert (found.fractions == expected.frac_coords).all()
        smaller += len(found.numbers) < len(structure.numbers)
    assert smaller > 20


def test_verdicts_are_those_of_pymatgen() -> None:
    draw, found = np.random.default_rng(1), Counter[bool]()
    for _ in range(3):
        for first, second in combinations(variants(draw), 2):
            expected = pymatgen_says(first, second)
            assert same(first, second) is expected, (first, second)
            found[expected] += 1
    assert min(found[True], found[False]) > 15


def matches_of(crystals: Sequence[Crystal | None], train: Sequence[Crystal] = ()) -> Matches:
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
    run_tasks = comparing.run_tasks

    def late(function: Any, items: Sequence[Any], **settings: Any) -> Any:
        for item, outcome in run_tasks(function, items, **settings):
            yield item, outcome if function is not answer or item else Outcome(None, "time limit (60 s)")

    monkeypatch.setattr(comparing, "run_tasks", late)
    matches = match_crystals([rock_salt(), None, caesium_chloride(), MOVED], [], workers=1, seconds=60)
    assert [match.novel for match in matches] == [True, False, True, False]
    assert [match.reason for match in matches] == ["", "", "", "time limit (60 s)"]
    assert first_places(matches, range(4)) == {0, 2}


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


def brute_force(crystals: Sequence[Crystal], among: Sequence[int]) -> dict[int, int]:
    """Return the first of the kind of each, from all pairs among them."""
    first = {place: place for place in among}
    for one, other in combinations(among, 2):
        if same(crystals[one], crystals[other]):
            low, high = sorted((first[one], first[other]))
            first = {place: low if kind == high else kind for place, kind in first.items()}
    return first


def test_kinds_among_any_crystals_are_those_of_all_comparisons() -> None:
    draw = np.random.default_rng(3)
    crystals = [one for _ in range(4) for one in variants(draw)]
    matches = matches_of(crystals)
    assert kinds_of(matches, range(len(crystals))) == brute_force(crystals, range(len(crystals)))
    for _ in range(6):
        among = sorted(draw.choice(len(crystals), 9, replace=False).tolist())
        assert kinds_of(matches, among) == brute_force(crystals, among)


def test_the_first_known_structure_is_named() -> None:
    known = [rock_salt("other"), LARGER, caesium_chloride("second")]
    matches = match_crystals([MOVED, rock_salt("new", numbers=(3, 17))], known, workers=1, seconds=60)
    assert [match.known for match in matches] == ["larger", ""]


def asked(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """Return the list of questions that workers get from now on; they are answered in this process."""
    questions = list[Question]()

    def run_here(function: Any, items: Sequence[Any], *, initialise: Any = None, **settings: Any) -> Any:
        given = () if initialise is None else (initialise(),)
        for number, item in enumerate(items):
            questions.extend([item] if function is answer else [])
            yield number, Outcome(function(*given, item), "")

    monkeypatch.setattr(comparing, "run_tasks", run_here)
    return questions


def test_a_popular_crystal_needs_one_comparison_for_each_of_its_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    questions, pairs = asked(monkeypatch), list[Any]()
    monkeypatch.setattr(comparing, "same_crystal", lambda *pair: pairs.append(pair) or same_crystal(*pair))
    crystals = [caesium_chloride(f"number {number}", 4.0 + number / 1000) for number in range(40)]
    assert unique_flags(crystals) == [True] + [False] * 39
    assert len(pairs) == len(questions) == 39


def test_ten_thousand_exact_copies_are_one_crystal(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = asked(monkeypatch)
    matches = matches_of([rock_salt(f"copy {number}") for number in range(10_000)], [caesium_chloride()])
    assert first_places(matches, range(10_000)) == {0}
    assert first_places(matches, [7, 8]) == {7}
    assert not questions


def test_comparisons_in_the_journal_are_not_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    questions = asked(monkeypatch)
    crystals = [caesium_chloride(), MOVED, LARGER]
    found = []
    for _ in range(2):
        matches = match_crystals(crystals, [MOVED], workers=1, seconds=60, finished=Journal(tmp_path, "these"))
        found.append((list(matches), kinds_of(matches, [1, 2])))
    assert found[0] == found[1]
    assert len(questions) == 4  # three at first, and one among the last two
