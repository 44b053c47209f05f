"""CHGNet without what relaxation does not need: the same energies, forces and stresses."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from ase.calculators.calculator import Calculator
from small_crystals import caesium_chloride, crystal, rock_salt

from pipeline.crystals.chgnet import graph_of
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import NoNeighbours, atoms_of
from pipeline.crystals.energy_models.chgnet import load_chgnet

TITANATE = {(0.02, 0, 0): 38, (0.5, 0.47, 0.5): 22, (0.5, 0.5, 0.03): 8, (0.46, 0, 0.5): 8, (0, 0.5, 0.55): 8}
CRYSTALS = [
    crystal("perovskite", 3.9, TITANATE),
    crystal("outside the cell", 3.9, {(x + 2, y - 1, z): number for (x, y, z), number in TITANATE.items()}),
    crystal("flat", 4.0, {(0, 0, 0): 30, (0.3, 0.4, 0.45): 16}, lengths=[3.1, 4.2, 8.0], angles=[75.0, 110.0, 50.0]),
    crystal("one atom", 2.6, {(0, 0, 0): 29}, angles=[60.0] * 3),
    crystal("no angles", 5.2, {(0, 0, 0): 55}),
    caesium_chloride(length=3.0),  # bonds at the bond graph's cutoff
]


@pytest.fixture(scope="module")
def lean() -> Calculator:
    return load_chgnet()


@pytest.fixture(scope="module")
def full() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from chgnet.model.dynamics import CHGNetCalculator
        from chgnet.model.model import CHGNet

        return CHGNetCalculator(CHGNet.load(use_device="cpu", verbose=False), use_device="cpu")


@pytest.mark.parametrize("start", CRYSTALS, ids=lambda start: start.id)
def test_energies_forces_and_stresses_are_those_of_chgnets_own_calculator(
    lean: Calculator, full: Calculator, start: Crystal
) -> None:
    ours, theirs = atoms_of(start, lean), atoms_of(start, full)
    assert ours.get_potential_energy() == pytest.approx(theirs.get_potential_energy(), abs=1e-5 * len(ours))
    assert ours.get_forces() == pytest.approx(theirs.get_forces(), abs=1e-5, rel=1e-5)
    assert ours.get_stress() == pytest.approx(theirs.get_stress(), abs=1e-5, rel=1e-5)


@pytest.mark.parametrize("start", CRYSTALS[:-1], ids=lambda start: start.id)
def test_a_graph_has_the_bonds_and_angles_of_chgnets_converter(full: Any, start: Crystal) -> None:
    ours = graph_of(atoms_of(start, full), cutoff=6.0, bond_cutoff=3.0)
    theirs = full.model.graph_converter(start.structure())
    assert _bonds(ours) == _bonds(theirs)
    assert _angles(ours) == _angles(theirs)


@pytest.mark.parametrize(
    "start", [rock_salt(length=20.0), crystal("far", 12.0, {(0, 0, 0): 1, (0, 0, 0.1): 1, (0.5, 0.5, 0.5): 2})]
)
def test_an_atom_without_neighbours_is_an_error(lean: Calculator, start: Crystal) -> None:
    with pytest.raises(NoNeighbours, match=r"of \d atoms have no other within 6 A"):
        atoms_of(start, lean).get_potential_energy()


def _directions(graph: Any) -> list[tuple[int, ...]]:
    rows = torch.cat([graph.atom_graph, graph.neighbor_image.int()], dim=1)
    return [tuple(row) for row in rows.tolist()]


def _bonds(graph: Any) -> list[list[tuple[int, ...]]]:
    """Return each bond as its two directions."""
    directions, bonds = _directions(graph), graph.directed2undirected.tolist()
    assert all(bonds[direction] == bond for bond, direction in enumerate(graph.undirected2directed.tolist()))
    return sorted(sorted(np.array(directions)[np.array(bonds) == bond].tolist()) for bond in set(bonds))


def _angles(graph: Any) -> list[tuple[Any, ...]]:
    """Return each angle as its atom and two directions."""
    directions, bonds = _directions(graph), graph.directed2undirected.tolist()
    angles = []
    for center, first_bond, first, second_bond, second in graph.bond_graph.tolist():
        assert (bonds[first], bonds[second]) == (first_bond, second_bond)
        assert directions[first][0] == directions[second][0] == center
        angles.append((center, directions[first], directions[second]))
    return sorted(angles)
