"""What the atoms around say about the last unknown coordinate of an atom."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from pymatgen.core import Lattice
from random_crystals import VOCABULARY, random_crystals, stirred
from torch import Tensor

from pipeline.config import Sampling
from pipeline.crystals.networks.contacts import BINS, CORE, CUTOFF, REPULSION, STEEPNESS, VALUES, Contacts
from pipeline.crystals.networks.crystal_dit import Options, build
from pipeline.crystals.networks.sizes import TYPICAL, volumes_of_elements
from pipeline.crystals.tokens import CELL, FIRST_ANGLE, FIRST_ELEMENT, FIRST_FRACTION, MASK, ONE, PER_ATOM, length_of
from pipeline.networks.saved import Description, SavedModel
from pipeline.sampling.conditions import conditions_of

GUESSED, KNOWN = 0, 1
SODIUM, OXYGEN = 10, 7  # numbers among the elements
RADIUS = float(volumes_of_elements()[SODIUM] / TYPICAL) ** (1 / 3)  # of sodium, as a multiple of the typical one
REACH = CUTOFF / (BINS - 1) * RADIUS  # between sodium atoms, of a function that is zero but for its first bin


def crystal(places: list[list[float]], sides: tuple[float, ...], angles: tuple[float, ...]) -> Tensor:
    """Return the tokens of a crystal of sodium, [1, D]."""
    cell = [round(10 * side) for side in sides] + [round(FIRST_ANGLE + angle) for angle in angles]
    atoms = [[FIRST_ELEMENT + SODIUM] + [FIRST_FRACTION + round(100 * value) for value in place] for place in places]
    return torch.tensor([cell + [token for atom in atoms for token in atom]])


def z_of(atom: int) -> int:
    return CELL + PER_ATOM * atom + 3


def touching(kind: int = KNOWN) -> Contacts:
    """Return terms that are -1 at an atom, and rise to 0 within REACH."""
    contacts = Contacts(VOCABULARY.size)
    with torch.no_grad():
        contacts.of_all.zero_()
        contacts.of_all[kind, 0] = -1 / STEEPNESS
    return contacts


def terms(contacts: Contacts, x: Tensor, at: list[int]) -> Tensor:
    with torch.no_grad():
        which, found = contacts(x, torch.tensor(at))
    assert which.tolist() == list(range(len(at)))
    return found


@pytest.mark.parametrize("angles", [(90, 90, 90), (60, 60, 60), (75, 100, 115)])
def test_terms_are_sums_over_the_images_of_atoms(angles: tuple[float, ...]) -> None:
    sides = (3.0, 4.2, 3.6)
    x = crystal([[0.1, 0.2, 0.0], [0.93, 0.15, 0.7], [0.12, 0.24, 0.5]], sides, angles)
    x[0, z_of(0)] = MASK
    contacts = Contacts(VOCABULARY.size)
    with torch.no_grad():  # 2 A wide, so that atoms of other cells count
        contacts.of_all[KNOWN] = (torch.arange(BINS) * REACH / 2 - 1).clamp(max=0) / STEEPNESS
    basis = Lattice.from_parameters(*sides, *angles).matrix
    images = np.array(list(itertools.product((-2, -1, 0, 1, 2), repeat=3)))
    expected = np.zeros(VALUES)
    for value, other in itertools.product(range(VALUES), ([0.93, 0.15, 0.7], [0.12, 0.24, 0.5])):
        apart = np.array([0.1, 0.2, value / VALUES]) - other + images
        expected[value] += np.minimum(np.linalg.norm(apart @ basis, axis=1) / 2 - 1, 0).sum()
    torch.testing.assert_close(terms(contacts, x, [z_of(0)])[0], torch.tensor(expected).float(), rtol=0, atol=0.06)


def test_the_place_of_another_atom_is_told_and_no_other() -> None:
    x = crystal([[0.5, 0.5, 0.0], [0.5, 0.5, 0.25], [0.0, 0.0, 0.6]], (8, 8, 8), (90, 90, 90))
    x[0, z_of(0)] = MASK
    found = terms(touching(), x, [z_of(0)])[0]
    assert found[25] == pytest.approx(-1)
    assert found.nonzero().flatten().tolist() == [23, 24, 25, 26, 27]  # 0.08 A apart


def test_before_anything_is_learned_small_atoms_may_be_closer_than_large_ones() -> None:
    contacts = Contacts(VOCABULARY.size)
    x = crystal([[0.0, 0.0, 0.0], [0.0, 0.0, 0.2]], (8, 8, 10), (90, 90, 90))
    x[0, z_of(0)] = MASK
    sodium = terms(contacts, x, [z_of(0)])[0, 0]
    assert float(sodium) == pytest.approx(REPULSION * (2.0 / RADIUS / CORE - 1), abs=1e-4)
    x[0, CELL::PER_ATOM] = FIRST_ELEMENT + OXYGEN
    assert float(terms(contacts, x, [z_of(0)])[0, 0]) == 0


def test_only_the_last_unknown_coordinate_of_an_atom_gets_terms() -> None:
    x = crystal([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], (4, 4, 4), (90, 90, 90))
    x[0, [z_of(1), z_of(1) - 1]] = MASK
    which, _ = Contacts(VOCABULARY.size)(x, torch.arange(x.numel()))
    assert which.tolist() == [CELL + 1, CELL + 2, CELL + 3]  # known ones, too: they may be wrong


def test_atoms_whose_place_is_unknown_say_nothing() -> None:
    x = crystal([[0.5, 0.5, 0.0], [0.5, 0.5, 0.25]], (8, 8, 8), (90, 90, 90))
    x[0, [z_of(0), z_of(1) - 2]] = MASK
    assert not terms(touching(), x, [z_of(0)]).any()


@pytest.mark.parametrize("hidden", [2, 4])
def test_a_cell_that_is_not_known_is_guessed_and_has_a_function_of_its_own(hidden: int) -> None:
    x = crystal([[0.5, 0.5, 0.0], [0.5, 0.5, 0.25]], (8, 8, 8), (90, 90, 90))
    x[0, [z_of(0), hidden]] = MASK
    assert not terms(touching(KNOWN), x, [z_of(0)]).any()
    found = terms(touching(GUESSED), x, [z_of(0)])[0]
    assert found[25] == pytest.approx(-1)
    edge = (2 * TYPICAL) ** (1 / 3) if hidden == 2 else 8.0
    assert found[26] == pytest.approx(edge / VALUES / REACH - 1, abs=1e-4)


def test_a_network_can_rule_out_that_two_atoms_are_in_one_place() -> None:
    options = Options(width=32, depth=1, heads=4, dropout=0.0, contacts=True)
    network: Any = stirred(build(options, VOCABULARY, length_of(2)))
    x = random_crystals([2], 2)
    x[0, CELL + 5 : CELL + 8] = x[0, CELL + 1 : CELL + 4]
    taken = int(x[0, z_of(0)])
    x[0, z_of(0)] = MASK
    time = torch.tensor([0.9])
    before = network(x, time)[0, z_of(0)].log_softmax(-1)
    with torch.no_grad():
        network.contacts.of_all[:, 0] -= 100 / STEEPNESS
    after = network(x, time)[0, z_of(0)].log_softmax(-1)
    assert FIRST_FRACTION <= taken < ONE
    assert after[taken] < before[taken] - 50
    assert (after - before)[FIRST_ELEMENT:].abs().max() < 1


def excluding(x: Tensor, at: list[int]) -> list[int]:
    """Return the values that have no chance because they are closer than 0.5 A to another atom."""
    contacts = Contacts(VOCABULARY.size, shortest=0.5).eval()
    return (terms(contacts, x, at)[0] < -1000).nonzero().flatten().tolist()


def test_no_atom_is_put_closer_to_another_than_the_shortest_distance() -> None:
    x = crystal([[0.5, 0.5, 0.0], [0.52, 0.5, 0.25], [0.0, 0.0, 0.6]], (10, 10, 10), (90, 90, 90))
    x[0, z_of(0)] = MASK
    assert excluding(x, [z_of(0)]) == list(range(21, 30))  # 0.2 A aside, so less than 0.46 A along


def test_in_a_cell_that_is_not_known_no_value_is_excluded() -> None:
    x = crystal([[0.5, 0.5, 0.0], [0.5, 0.5, 0.25]], (10, 10, 10), (90, 90, 90))
    x[0, [z_of(0), 2]] = MASK
    assert not excluding(x, [z_of(0)])


def test_where_every_value_is_too_close_all_are_possible_alike() -> None:
    x = crystal([[0.0, 0.0, 0.1]] + [[0.0, 0.0, place / 20] for place in range(20)], (8, 8, 8), (90, 90, 90))
    x[0, z_of(0)] = MASK
    found = terms(Contacts(VOCABULARY.size, shortest=0.5).eval(), x, [z_of(0)])[0]
    assert found.isfinite().all()
    assert (found == found[0]).all()


def test_nothing_is_excluded_while_a_network_trains() -> None:
    x = crystal([[0.5, 0.5, 0.0], [0.5, 0.5, 0.25]], (10, 10, 10), (90, 90, 90))
    x[0, z_of(0)] = MASK
    found = terms(Contacts(VOCABULARY.size, shortest=0.5).train(), x, [z_of(0)])
    assert found.min() >= -REPULSION


def test_a_shortest_distance_needs_contacts() -> None:
    with pytest.raises(ValueError, match="shortest: needs contacts: true"):
        Options(shortest=0.5)


@pytest.mark.parametrize(
    "options, shown",
    [({}, None), ({"contacts": False}, None), ({"contacts": True, "shortest": 0.5}, "(contacts=True, shortest=0.5)")],
)
def test_the_tables_name_what_the_papers_network_does_not_have(options: dict[str, Any], shown: str | None) -> None:
    chosen = {"model": {"name": "crystal_dit", "width": 16, **options}, "path": {"name": "mask"}}
    given = chosen | {"loss": {"name": "cross_entropy"}, "run": "x", "seed": 0, "length": 86, "vocabulary": "v"}
    saved = SavedModel(torch.nn.Identity(), None, Description.model_validate(given))
    conditions = conditions_of(saved, None, Sampling(), 0)  # type: ignore[arg-type]
    assert conditions.get("model") == (None if shown is None else f"crystal_dit {shown}")
