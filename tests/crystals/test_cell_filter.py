"""The filter that relaxation uses: the variables and forces of ase's."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.lj import LennardJones
from ase.filters import FrechetCellFilter

from pipeline.crystals.cell_filter import CellFilter


def sheared_argon() -> Atoms:
    atoms = bulk("Ar", "fcc", 5.0).repeat((2, 1, 1))
    atoms.set_cell(atoms.cell.array @ [[1.01, 0.05, 0.0], [0.03, 0.98, 0.07], [0.0, 0.04, 1.06]], scale_atoms=True)
    atoms.positions[1] += 0.2
    atoms.calc = LennardJones(sigma=3.4, epsilon=0.01, rc=9.0, smooth=True)
    return atoms


def test_variables_forces_and_moves_are_those_of_ases_filter() -> None:
    ours, theirs, draw = CellFilter(sheared_argon()), FrechetCellFilter(sheared_argon()), np.random.default_rng(0)
    for _ in range(5):
        assert ours.get_positions() == pytest.approx(theirs.get_positions(), abs=1e-12)
        assert ours.get_forces() == pytest.approx(theirs.get_forces(), abs=1e-12)
        moved = theirs.get_positions() + draw.normal(0, 0.1, (len(theirs), 3))
        ours.set_positions(moved)
        theirs.set_positions(moved)
        assert ours.atoms.positions == pytest.approx(theirs.atoms.positions, abs=1e-12)
        assert ours.atoms.cell.array == pytest.approx(theirs.atoms.cell.array, abs=1e-12)


def test_what_it_returns_can_be_changed_without_harm() -> None:
    cell = CellFilter(sheared_argon())
    forces, places = cell.get_forces(), cell.get_positions()
    cell.get_forces()[:] = cell.get_positions()[:] = 7.0
    assert np.array_equal(cell.get_forces(), forces)
    assert np.array_equal(cell.get_positions(), places)
