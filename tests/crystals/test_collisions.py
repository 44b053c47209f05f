"""Atoms that are too close to each other, and those that are placed anew."""

from typing import Any

import pytest
import torch
from pymatgen.core import Lattice, Structure
from random_crystals import VOCABULARY, random_crystals, stirred
from torch import Tensor

from pipeline.config import Sampling
from pipeline.crystals.networks.collisions import FAR, atoms_to_move, relative_distances
from pipeline.crystals.networks.crystal_dit import Options, build
from pipeline.crystals.networks.sizes import volumes_of_elements
from pipeline.crystals.tokens import CELL, FIRST_ANGLE, FIRST_ELEMENT, FIRST_FRACTION, PAD, PER_ATOM, length_of
from pipeline.errors import KinoflowError
from pipeline.flow.clamp import Clamp
from pipeline.flow.paths import build_path
from pipeline.networks.saved import Description, SavedModel
from pipeline.sampling.blocks import draw_tokens
from pipeline.tokens.token_data import TokenData

SODIUM, CHLORINE = 11, 17


def crystal(*places: tuple[float, float, float], side: int = 60, angle: int = 90, atoms: int = 6) -> Tensor:
    """Return a crystal of sodium in a cell of equal sides (0.1 A) and angles, padded, [1, D]."""
    x = torch.full((1, length_of(atoms)), PAD)
    x[0, :CELL] = torch.tensor([side] * 3 + [FIRST_ANGLE + angle] * 3)
    for number, place in enumerate(places):
        values = [FIRST_FRACTION + round(100 * value) for value in place]
        x[0, CELL + PER_ATOM * number :][:PER_ATOM] = torch.tensor([FIRST_ELEMENT + SODIUM - 1, *values])
    return x


def moved(x: Tensor, spacing: float, free: Tensor | None = None, seed: int = 0) -> list[int]:
    """Return which atoms get new places, all three coordinates of each."""
    free = torch.ones_like(x, dtype=torch.bool) if free is None else free
    chosen = atoms_to_move(x, spacing, free, torch.Generator().manual_seed(seed))
    atoms = chosen[:, CELL:].unflatten(1, (-1, PER_ATOM))[0]
    assert not chosen[:, :CELL].any()
    assert not atoms[:, 0].any()
    assert (atoms[:, 1] == atoms[:, 3]).all()
    return atoms[:, 1].nonzero().flatten().tolist()


@pytest.mark.parametrize("angle", [60, 90, 110])
def test_distances_are_those_of_the_nearest_images(angle: int) -> None:
    places = [(0.02, 0.1, 0.95), (0.97, 0.9, 0.05), (0.5, 0.4, 0.3)]
    found = relative_distances(crystal(*places, angle=angle))[0]
    lattice = Lattice.from_parameters(6, 6, 6, angle, angle, angle)
    expected = Structure(lattice, ["Na"] * 3, places).distance_matrix
    diameter = 2 * float(0.75 / torch.pi * volumes_of_elements()[SODIUM - 1]) ** (1 / 3)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert float(found[one, other]) == pytest.approx(expected[one, other] / diameter, abs=1e-4)
    assert (found.diagonal() == FAR).all()
    assert (found[3:] == FAR).all()  # no atoms, only pads


def test_radii_are_those_of_the_elements() -> None:
    x = crystal((0, 0, 0), (0.5, 0, 0))
    x[0, CELL + PER_ATOM] = FIRST_ELEMENT + CHLORINE - 1
    radii = (0.75 / torch.pi * volumes_of_elements()[[SODIUM - 1, CHLORINE - 1]]) ** (1 / 3)
    assert float(relative_distances(x)[0, 0, 1]) == pytest.approx(3.0 / float(radii.sum()))


def test_the_atom_with_most_collisions_gets_a_new_place() -> None:
    x = crystal((0, 0, 0), (0.2, 0, 0), (0.4, 0, 0), (0.5, 0.5, 0.5))
    assert moved(x, 0.5) == [1]
    assert moved(x, 0.1) == []


def test_of_two_atoms_alike_either_is_moved() -> None:
    x = crystal((0, 0, 0), (0.1, 0, 0))
    assert {atom for seed in range(20) for atom in moved(x, 0.5, seed=seed)} == {0, 1}


def test_an_atom_that_is_given_stays() -> None:
    x = crystal((0, 0, 0), (0.2, 0, 0), (0.4, 0, 0))
    free = torch.ones_like(x, dtype=torch.bool)
    free[0, CELL + PER_ATOM : CELL + 2 * PER_ATOM] = False
    assert {atom for seed in range(20) for atom in moved(x, 0.5, free, seed)} == {0, 2}
    assert moved(x, 0.5, torch.zeros_like(free)) == []


def test_a_cell_that_does_not_close_has_finite_distances() -> None:
    x = crystal((0, 0, 0), (0.5, 0.5, 0.5))
    x[0, 3:CELL] = FIRST_ANGLE + torch.tensor([10, 100, 20])
    assert relative_distances(x).isfinite().all()


@pytest.fixture(scope="module")
def saved() -> SavedModel:
    """Return a network without training whose atoms are to be at least 0.5 radii apart."""
    model = {"name": "crystal_dit", "width": 16, "depth": 1, "heads": 2, "contacts": True, "spacing": 0.5}
    given: dict[str, Any] = {"model": model, "path": {"name": "mask"}, "loss": {"name": "cross_entropy"}}
    given |= {"run": "x", "seed": 0, "length": length_of(6), "vocabulary": "v"}
    options = {key: value for key, value in model.items() if key != "name"}
    network = stirred(build(Options(**options), VOCABULARY, length_of(6)))
    return SavedModel(network, build_path("mask", VOCABULARY), Description.model_validate(given))


def drawn(saved: SavedModel, kinds: Tensor, clamp: Clamp | None = None, **sampling: Any) -> Any:
    frames: list[tuple[float, Tensor]] = []
    data = TokenData(*[random_crystals([4], 6)] * 3, vocabulary=VOCABULARY, origin={})
    given = Sampling.model_validate({"steps": 8} | sampling)
    generator = torch.Generator().manual_seed(0)
    found = draw_tokens(
        saved, data, given, kinds, generator, on_step=lambda x, t: frames.append((t, x.clone())), clamp=clamp
    )
    return found, frames


def too_close(x: Tensor) -> Tensor:
    return (relative_distances(x) < 0.5).flatten(1).any(1)


def in_a_wide_cell(count: int) -> tuple[Tensor, Clamp]:
    """Return kinds of crystals of 6 atoms, and a clamp that fixes their cell."""
    x = crystal(*[(0.0, 0.0, 0.0)] * 6, side=90).repeat(count, 1)
    fixed = torch.zeros_like(x, dtype=torch.bool)
    fixed[:, :CELL] = True
    return VOCABULARY.kinds_of(x), Clamp(x, fixed)


def test_redraws_end_collisions_and_keep_all_else(saved: SavedModel) -> None:
    kinds, clamp = in_a_wide_cell(40)
    before, _ = drawn(saved, kinds, clamp)
    after, frames = drawn(saved, kinds, clamp, redraws=200)
    assert too_close(before.tokens).any()
    assert not too_close(after.tokens).any()
    same = ~too_close(before.tokens)
    assert torch.equal(after.tokens[same], before.tokens[same])
    assert torch.equal(after.tokens[:, :CELL], before.tokens[:, :CELL])
    assert torch.equal(after.tokens[:, CELL::PER_ATOM], before.tokens[:, CELL::PER_ATOM])
    assert (after.visits[same] == before.visits[same]).all()
    assert (after.visits[~same] > before.visits[~same]).all()
    assert frames[-1][0] == 1.0
    assert torch.equal(frames[-1][1], after.tokens)
    assert sum(t == 1.0 for t, _ in frames) == 1


def test_rounds_are_limited(saved: SavedModel) -> None:
    kinds, clamp = in_a_wide_cell(40)
    once, _ = drawn(saved, kinds, clamp, redraws=1)
    before, _ = drawn(saved, kinds, clamp)
    changed = (once.tokens != before.tokens)[:, CELL:].unflatten(1, (-1, PER_ATOM)).any(-1).sum(1)
    assert changed.max() == 1


def test_a_network_that_knows_no_conflicts_is_an_error_that_says_so(saved: SavedModel) -> None:
    network = stirred(build(Options(width=16, depth=1, heads=2), VOCABULARY, length_of(6)))
    other = SavedModel(network, saved.path, saved.description)
    kinds, clamp = in_a_wide_cell(1)
    with pytest.raises(KinoflowError, match=r"run 'x': sampling.redraws needs a network .* that knows conflicts"):
        drawn(other, kinds, clamp, redraws=1)
