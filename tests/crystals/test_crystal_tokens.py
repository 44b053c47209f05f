"""Crystals as tokens: the paper's vocabulary, both rules of rounding, what has no token, and the way back."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from known_crystals import rock_salt, wurtzite

from pipeline.crystals import tokens
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.elements import SYMBOLS, element_distances
from pipeline.crystals.tokens import EncodingError, atoms_of, base_distances, decode, encode, layout, shuffle_atoms
from pipeline.errors import KinoflowError
from pipeline.flow.distances import TableDistance, check_distance


def crystal_with(**changes: object) -> Crystal:
    values = {name: getattr(rock_salt(), name) for name in ("id", "lengths", "angles", "numbers", "fractions")}
    return Crystal(**(values | changes))


def decoded(row: np.ndarray | torch.Tensor) -> Crystal:
    found = decode(row)
    assert found.crystal is not None, found.reason
    assert not found.reason
    return found.crystal


# The vocabulary


def test_the_vocabulary_is_the_papers() -> None:
    vocabulary = tokens.vocabulary()
    kinds = vocabulary.kind_of.values.tolist()
    assert vocabulary.size == 878
    assert [kinds.count(kind) for kind in (-1, 0, 1, 2, 3, 4)] == [3, 500, 180, 100, 94, 1]
    assert kinds[:500] == [0] * 500
    assert kinds[500:680] == [1] * 180
    assert kinds[680:781] == [2] * 100 + [-1]  # 1.00 is never data
    assert kinds[781:] == [3] * 94 + [-1, -1, 4]
    assert vocabulary.mask == 876


def test_symbols_are_those_of_the_periodic_table() -> None:
    from pymatgen.core import Element

    assert [Element(symbol).Z for symbol in SYMBOLS] == list(range(1, 95))


def test_distances_are_allowed_and_at_most_one() -> None:
    table, vocabulary = base_distances(), tokens.vocabulary()
    check_distance(TableDistance(table), vocabulary)
    kind_of = vocabulary.kind_of.values
    for kind in range(4):
        block = table[kind_of == kind][:, kind_of == kind]
        assert block.max() == 1
        assert torch.equal(block, block.T)


def test_fractions_are_neighbours_across_the_face_of_the_cell() -> None:
    table, first = base_distances(), tokens.FIRST_FRACTION
    assert table[first, first + 99] == table[first, first + 1]
    assert table[first, first + 50] == 1


def test_sodium_is_nearer_to_potassium_than_to_its_neighbours_in_the_table() -> None:
    places = element_distances()
    sodium, potassium, neon, magnesium = (SYMBOLS.index(symbol) for symbol in ("Na", "K", "Ne", "Mg"))
    assert places[sodium, potassium] < min(places[sodium, neon], places[sodium, magnesium])


# There and back

positive = st.floats(0.05, 49.94, allow_nan=False)
degrees = st.floats(60.5, 119.0, allow_nan=False)  # any three of them close to a cell
fraction = st.floats(-3, 3, allow_nan=False)


@st.composite
def crystals(draw: st.DrawFn) -> Crystal:
    atoms = draw(st.integers(1, 6))
    lengths, angles = (np.array(draw(st.lists(kind, min_size=3, max_size=3))) for kind in (positive, degrees))
    numbers = np.array(draw(st.lists(st.integers(1, 94), min_size=atoms, max_size=atoms)))
    fractions = np.array(draw(st.lists(fraction, min_size=3 * atoms, max_size=3 * atoms))).reshape(atoms, 3)
    return Crystal("drawn", lengths, angles, numbers, fractions)


@settings(deadline=None)
@given(crystals())
def test_a_crystal_comes_back_to_half_a_token(crystal: Crystal) -> None:
    row = encode(crystal, max_atoms=6)
    back = decoded(row)
    assert np.abs(back.lengths - crystal.lengths).max() <= 0.05 + 1e-7
    assert np.abs(back.angles - crystal.angles).max() <= 0.5 + 1e-7
    assert back.numbers.tolist() == crystal.numbers.tolist()
    apart = back.fractions - crystal.fractions
    assert np.abs(apart - np.rint(apart)).max() <= 0.005 + 1e-7
    assert encode(back, max_atoms=6).tolist() == row.tolist()


@settings(deadline=None)
@given(crystals())
def test_truncation_never_rounds_up_and_what_is_written_stays(crystal: Crystal) -> None:
    assume(crystal.lengths.min() >= 0.1)  # of less than a token, nothing is left
    row = encode(crystal, "truncate", max_atoms=6)
    back = decoded(row)
    short = crystal.lengths - back.lengths
    assert (short > -1e-7).all()
    assert (short < 0.1).all()
    assert encode(back, "truncate", max_atoms=6).tolist() == row.tolist()


@pytest.mark.parametrize("hundredths", range(100))
def test_two_decimals_stay_what_they_are_under_both_rules(hundredths: int) -> None:
    fractions = np.array([[hundredths * 0.01, hundredths / 100, 1 - (100 - hundredths) / 100]])
    crystal = crystal_with(numbers=np.array([1]), fractions=fractions)
    for rounding in ("nearest", "truncate"):
        assert (encode(crystal, rounding)[7:10] - tokens.FIRST_FRACTION).tolist() == [hundredths] * 3


def test_hexagonal_cells_stay_hexagonal_when_rounded_but_not_when_truncated() -> None:
    almost = wurtzite(gamma=119.99999)
    assert decoded(encode(almost, "nearest")).angles[2] == 120
    assert decoded(encode(almost, "truncate")).angles[2] == 119
    assert decoded(encode(wurtzite(gamma=119.9999999999), "truncate")).angles[2] == 120  # not seen in 8 decimals


def test_an_atom_just_below_the_face_is_on_the_opposite_one() -> None:
    fractions = np.array([[0.999, 0.994, -0.001]])
    crystal = crystal_with(numbers=np.array([1]), fractions=fractions)
    assert decoded(encode(crystal, "nearest")).fractions.tolist() == [[0.0, 0.99, 0.0]]
    assert decoded(encode(crystal, "truncate")).fractions.tolist() == [[0.99, 0.99, 0.99]]


def test_the_token_one_is_read_as_zero_and_never_written() -> None:
    row = encode(rock_salt())
    assert tokens.ONE not in row
    row[7] = tokens.ONE
    assert decoded(row).fractions[0].tolist() == [0, 0, 0]


def test_halves_are_rounded_such_that_differences_stay() -> None:
    crystal = crystal_with(numbers=np.array([6, 6]), fractions=np.array([[0.125] * 3, [0.875] * 3]))
    back = decoded(encode(crystal)).fractions
    assert np.allclose(back[1] - back[0], 0.75)


# What has no token


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"lengths": np.array([5, 5, 49.95])}, "a length of 50 A or more"),
        ({"lengths": np.array([5, 5, 1e30])}, "a length of 50 A or more"),
        ({"lengths": np.array([0.04, 5, 5])}, "a length that is 0.0 A"),
        ({"lengths": np.array([-5.0, 5, 5])}, "a length that is 0.0 A"),
        ({"lengths": np.array([np.nan, 5, 5])}, "a number is not finite"),
        ({"angles": np.array([90, 90, 179.5])}, "an angle that is 180 degrees"),
        ({"angles": np.array([90, 90, 0.4])}, "an angle that is 0 degrees"),
        ({"angles": np.array([120.0, 120, 120])}, "angles that do not close"),
        ({"angles": np.array([30.0, 40, 70])}, "angles that do not close"),
        ({"numbers": np.full(8, 95)}, "an element beyond Z = 94"),
        ({"numbers": np.zeros(8, dtype=int)}, "an element beyond Z = 94"),
        ({"fractions": np.full((8, 3), np.inf)}, "a number is not finite"),
        ({"numbers": np.empty(0, dtype=int), "fractions": np.empty((0, 3))}, "no atoms"),
    ],
)
def test_what_has_no_token_is_refused_with_the_reason(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(EncodingError, match="rock salt") as raised:
        encode(crystal_with(**changes))
    assert raised.value.reason.startswith(reason)


def test_too_many_atoms_are_refused() -> None:
    with pytest.raises(EncodingError, match="more than 7 atoms"):
        encode(rock_salt(), max_atoms=7)
    assert len(encode(rock_salt(), max_atoms=8)) == 6 + 4 * 8


def test_truncating_a_length_to_nothing_is_refused() -> None:
    with pytest.raises(EncodingError, match=r"0\.0 A"):
        encode(crystal_with(lengths=np.array([0.09, 5, 5])), "truncate")


def changed(position: int, token: int) -> np.ndarray:
    row = encode(rock_salt(), max_atoms=9)
    row[position] = token
    return row


@pytest.mark.parametrize(
    "row, reason",
    [
        (changed(0, tokens.FIRST_ANGLE), "no length or angle where one is due"),
        (changed(3, 10), "no length or angle where one is due"),
        (changed(6, tokens.PAD), "an atom is not an element and three fractions"),
        (changed(8, tokens.MASK), "an atom is not an element and three fractions"),
        (changed(8, 5000), "an atom is not an element and three fractions"),
        (changed(8, -1), "an atom is not an element and three fractions"),
        (changed(38, tokens.FIRST_ELEMENT), "an atom is not an element and three fractions"),
        (changed(0, 0), "a length that is 0.0 A"),
        (changed(3, tokens.FIRST_ANGLE), "an angle that is 0 degrees"),
        (changed(3, tokens.FIRST_ANGLE + 179), ""),
        (np.r_[encode(rock_salt())[:6], np.full(8, tokens.PAD)], "no atoms"),
    ],
)
def test_impossible_rows_are_explained(row: np.ndarray, reason: str) -> None:
    found = decode(row).reason
    assert reason in found
    assert bool(reason) == bool(found)


def test_tokens_that_are_no_atoms_in_a_cell_give_no_crystal() -> None:
    no_atoms = np.r_[encode(rock_salt())[:6], np.full(8, tokens.PAD)]
    for row in (changed(3, 10), changed(8, tokens.MASK), no_atoms):
        assert decode(row).crystal is None


@pytest.mark.parametrize(
    "cell, reason",
    [
        ([56, 56, 56, 100, 120, 140], "angles that do not close to a cell"),
        ([56, 56, 56, 10, 130, 90], "angles that do not close to a cell"),
        ([0, 56, 56, 90, 90, 90], "a length that is 0.0 A as a token"),
        ([56, 56, 56, 90, 0, 90], "an angle that is 0 degrees as a token"),
    ],
)
def test_a_cell_that_cannot_exist_is_a_reason_and_the_atoms_are_kept(cell: list[int], reason: str) -> None:
    row = encode(rock_salt())
    row[:6] = np.array(cell) + np.repeat([0, tokens.FIRST_ANGLE], 3)
    found = decode(row, "x")
    assert found.reason == reason
    assert found.crystal is not None
    assert found.crystal.composition == rock_salt().composition
    assert found.crystal.angles.tolist() == cell[3:]
    with pytest.raises(ValueError):
        found.crystal.structure()


def test_rows_of_an_impossible_length_are_an_error() -> None:
    with pytest.raises(KinoflowError, match="6 \\+ 4 a numbers"):
        decode(np.zeros(12, dtype=int))


# Layout and order


def test_the_layout_is_that_of_encoded_crystals() -> None:
    rows = torch.from_numpy(np.stack([encode(rock_salt()), encode(wurtzite())]))
    assert atoms_of(rows).tolist() == [8, 4]
    assert torch.equal(layout(atoms_of(rows)), tokens.vocabulary().kinds_of(rows))
    assert torch.equal(layout(8), layout(atoms_of(rows))[0])


@pytest.mark.parametrize("atoms", [0, 21])
def test_a_layout_of_too_few_or_too_many_atoms_is_an_error(atoms: int) -> None:
    with pytest.raises(KinoflowError, match=f"{atoms} atoms"):
        layout(atoms)


def test_shuffling_keeps_cells_pads_and_the_atoms_themselves() -> None:
    rows = torch.from_numpy(np.stack([encode(rock_salt()), encode(wurtzite())] * 8))
    shuffled = shuffle_atoms(rows, torch.Generator().manual_seed(0))
    assert torch.equal(shuffled[:, :6], rows[:, :6])
    assert torch.equal(atoms_of(shuffled), atoms_of(rows))
    assert torch.equal(tokens.vocabulary().kinds_of(shuffled), tokens.vocabulary().kinds_of(rows))
    for before, after in zip(rows, shuffled, strict=True):
        quadruples = [sorted(map(tuple, row[6:].reshape(-1, 4).tolist())) for row in (before, after)]
        assert quadruples[0] == quadruples[1]
    assert not torch.equal(shuffled, rows)
    assert torch.equal(shuffle_atoms(rows, torch.Generator().manual_seed(0)), shuffled)
