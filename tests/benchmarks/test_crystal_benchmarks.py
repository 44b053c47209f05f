"""The benchmarks on crystals answer, and refuse to if the two ways disagree."""

import numpy as np
import pytest
from known_crystals import rock_salt, wurtzite

from benchmarks import describing, matching, popular_formula
from benchmarks.crystal_sets import doubled, shaken, with_variants
from pipeline.crystals.crystal import Crystal


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (describing, matching, popular_formula):
        monkeypatch.setattr(module, "training_structures", lambda: [rock_salt(), wurtzite()])


def test_describing_is_compared_on_real_structures_and_on_variants() -> None:
    found = describing.answers(count=2)
    assert [answer.ways for answer in found] == [("matminer", "arrays")] * 2
    assert all(answer.ratio > 0 for answer in found)


def test_describing_has_no_answer_if_fingerprints_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "ROUNDING", -1.0)
    with pytest.raises(AssertionError, match="fingerprints differ"):
        describing.answers(count=1)


def test_matching_is_compared_on_equal_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    (answer,) = matching.answers(count=6)
    assert answer.ways == ("structures", "arrays")
    assert "equal verdicts; 9 pairs" in answer.note
    monkeypatch.setattr(matching, "same_crystal", lambda first, second: False)
    with pytest.raises(AssertionError, match="verdicts differ"):
        matching.answers(count=6)


def test_a_popular_formula_is_compared_on_equal_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(popular_formula, "ELEMENTS", (38, 8))
    (answer,) = popular_formula.answers(count=9, popular=6)
    assert answer.ways == ("all pairs in full", "screened, until connected")
    assert answer.note.startswith("equal verdicts; ")
    monkeypatch.setattr(popular_formula, "same_crystal", lambda first, second, screened: False)
    with pytest.raises(AssertionError, match="verdicts differ"):
        popular_formula.answers(count=9, popular=6)


def test_variants_are_the_crystal_itself_a_shaken_one_and_a_larger_cell() -> None:
    plain, moved, larger, *_ = with_variants([rock_salt(), wurtzite()], 6)
    assert (plain.fractions == rock_salt().fractions).all()
    assert moved.fractions.shape == plain.fractions.shape
    assert not np.allclose(moved.fractions, plain.fractions)
    assert larger.structure().density == pytest.approx(plain.structure().density)
    assert len(larger.numbers) == 2 * len(plain.numbers)
    assert isinstance(shaken(doubled(plain, 2), np.random.default_rng(0)), Crystal)
