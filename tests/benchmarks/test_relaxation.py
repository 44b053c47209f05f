"""The benchmark of relaxation, on one crystal."""

from benchmarks.relaxation import answers, disturbed


def test_one_crystal_converges_both_ways_to_the_same_energy() -> None:
    (answer,) = answers(crystals=1, repeats=1)
    assert answer.ratio > 0
    assert answer.note.startswith("1 of 1 converge both ways, their energies 0.")


def test_the_same_number_is_the_same_crystal_and_no_two_are_equal() -> None:
    assert (disturbed(6).fractions == disturbed(6).fractions).all()
    assert disturbed(0).lengths.tolist() != disturbed(6).lengths.tolist()
    assert {len(disturbed(number).numbers) for number in range(6)} == {2, 5, 6, 8, 12}
