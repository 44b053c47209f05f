"""The steps of a relaxation that are kept."""

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.lj import LennardJones
from small_crystals import crystal

from pipeline.crystals.relaxation import relax
from pipeline.crystals.trajectory import MOST, Trajectory, places


def test_a_relaxed_crystal_comes_with_its_way_from_where_it_began_to_where_it_ends() -> None:
    start = crystal("Ar", 3.2, {(0, 0, 0): 18, (0.5, 0.5, 0.4): 18}, angles=[60.0, 62.0, 64.0])
    row = relax(LennardJones(sigma=3.4, epsilon=0.01, rc=9.0, smooth=True), start, steps=300, force=1e-4)
    first, *_, last = steps = row["trajectory"]
    assert (first["step"], last["step"], last["max_force"]) == (0, row["steps"], row["max_force"])
    assert 2 < len(steps) <= MOST
    assert first["lengths"] == pytest.approx(start.lengths, abs=1e-5)
    assert last["lengths"] == pytest.approx(row["lengths"], abs=1e-5)
    assert last["fractions"] == pytest.approx(row["fractions"], abs=1e-5)
    moved = np.asarray(first["fractions"]).reshape(-1, 3) - start.fractions
    assert moved == pytest.approx(np.round(moved), abs=1e-5), "the atoms begin where they were, or in the next cell"


def test_an_atom_that_leaves_the_cell_does_not_jump() -> None:
    way = Trajectory()
    for step, x in enumerate((0.02, 0.0, -0.02)):
        way.add(step, 1.0, Atoms("Ar", scaled_positions=[[x, 0, 0]], cell=[4, 4, 4], pbc=True))
    ends = [step["fractions"][0] for step in way.kept(np.array([[0.98, 0.0, 0.0]]))]
    assert ends == pytest.approx([1.02, 1.0, 0.98])


@pytest.mark.parametrize("count", [1, 2, 5, 11, 301])
def test_first_and_last_steps_are_kept_and_few_between(count: int) -> None:
    kept = places(count)
    assert (kept[0], kept[-1]) == (0, count - 1)
    assert len(kept) <= MOST
    assert kept == sorted(set(kept))
