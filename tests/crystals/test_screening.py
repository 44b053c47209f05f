"""No screen refuses what the full comparison accepts."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from small_crystals import caesium_chloride, crystal, rock_salt

from pipeline.crystals import alignment
from pipeline.crystals.crystal import Crystal, Floats, Integers
from pipeline.crystals.reduction import Cell, reduced_cell
from pipeline.crystals.screening import Screen, bases_that_may_fit

FLAT = crystal("flat", 0, {(0, 0, 0): 11, (0.5, 0.5, 0.3): 17}, lengths=[9.0, 9.0, 1.1])


def relatives(draw: np.random.Generator) -> list[Cell]:
    """Return reduced cells of one formula, from alike to unlike, some at the edge of the tolerances."""
    atoms = draw.integers(1, 3), draw.integers(1, 4)
    numbers = np.repeat([38, 8], atoms)
    cells = []
    for _ in range(3):
        lengths, angles = draw.uniform(2.5, 8, 3), draw.choice([60.0, 75.0, 90.0, 100.0], 3)
        fractions = draw.integers(0, 4, (len(numbers), 3)) / 4 + draw.uniform(0, 0.05, (len(numbers), 3))
        for size in (0.0, 0.02, 0.05, 0.1):
            moved = fractions + draw.normal(0, size, fractions.shape)
            sides = lengths * draw.uniform(1 - 1.5 * size, 1 + 1.5 * size, 3)
            tilted = angles + draw.uniform(-40 * size, 40 * size, 3)
            try:
                cells.append(reduced_cell(Crystal("", sides, tilted, numbers, moved)))
            except ValueError:  # angles that do not close
                continue
    return cells


def test_cells_that_are_the_same_pass_the_screen() -> None:
    found = Counter[tuple[bool, bool]]()
    for seed in range(5):
        cells = relatives(np.random.default_rng(seed))
        screen = Screen(cells)
        for one, other in combinations(range(len(cells)), 2):
            alike = alignment.same_crystal(cells[one], cells[other])
            passes = one in screen.may_be_same(other, np.array([one]))
            assert passes or not alike, (seed, one, other)
            found[alike, passes] += 1
    assert found[True, True] > 5
    assert found[False, False] > 20


def all_ways(first: Cell, second: Cell) -> tuple[list[Floats], dict[str, Floats | Integers]]:
    """Return the bases of a comparison, and what else it goes by."""
    ratio = (second.lattice.volume / first.lattice.volume) ** (1 / 6)
    target = np.concatenate([np.array(second.lattice.lengths) / ratio, second.lattice.angles])
    forbidden = (second.numbers[:, None] != first.numbers).astype(np.int64)
    places = np.vecmat(first.fractions, first.lattice.matrix * ratio)
    given = {"target": target, "forbidden": forbidden, "places": places, "others": second.fractions}
    return list(alignment._bases(first, second, ratio)), given


@pytest.mark.parametrize("seed", range(4))
def test_bases_over_which_a_crystal_fits_pass_the_screen(seed: int) -> None:
    cells, found = relatives(np.random.default_rng(seed)), Counter[tuple[bool, bool]]()
    for first, second in permutations([*cells, reduced_cell(FLAT)], 2):
        if sorted(first.numbers.tolist()) == sorted(second.numbers.tolist()):
            bases, given = all_ways(first, second)
            passing = {basis.tobytes() for basis in bases_that_may_fit(np.array(bases).reshape(-1, 3, 3), **given)}
            for basis in bases:
                fits, passes = alignment._fits(basis, **given), basis.tobytes() in passing
                assert passes or not fits
                found[fits, passes] += 1
    assert found[True, True] > 20
    assert found[False, False] > 5 * found[False, True]


def test_flat_cells_and_copies_pass_the_screen() -> None:
    for one in (FLAT, rock_salt(), caesium_chloride()):
        cell = reduced_cell(one)
        bases, given = all_ways(cell, cell)
        assert len(bases_that_may_fit(np.array(bases), **given)) == len(bases) > 0


def test_cells_of_other_atoms_and_none_do_not_pass() -> None:
    screen = Screen([reduced_cell(rock_salt()), None, reduced_cell(rock_salt(numbers=(11, 35))), None])
    assert screen.may_be_same(0, np.array([0, 1, 2, 3])).tolist() == [0]
    assert screen.may_be_same(1, np.array([0, 2, 3])).tolist() == []
