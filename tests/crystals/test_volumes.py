"""What the volume of a cell and those of its atoms say about hidden lengths, angles and elements."""

import math

import pytest
import torch
from pymatgen.core import Lattice
from random_crystals import VOCABULARY
from torch import Tensor

from pipeline.crystals.networks.crystal_dit import Options, build
from pipeline.crystals.networks.sizes import TYPICAL
from pipeline.crystals.networks.volumes import (
    BINS,
    ELEMENTS,
    GROWTH,
    OF_ANGLE,
    OF_ELEMENT,
    OF_LENGTH,
    STEEPNESS,
    WIDEST,
    Volumes,
)
from pipeline.crystals.tokens import CELL, FIRST_ANGLE, FIRST_ELEMENT, MASK, PADDING, PER_ATOM, length_of

NA, CL = 10, 16  # numbers among the elements
PAD = int((VOCABULARY.kind_of.values == PADDING).nonzero())
SIZES = {NA: 30.0, CL: 15.0}  # cubic Angstrom


def crystal(cell: tuple[int | None, ...], *elements: int | None, atoms: int = 4) -> Tensor:
    """Return a crystal of which some lengths (0.1 A), angles (degrees) and elements are known, padded, [1, D]."""
    x = torch.full((1, length_of(atoms)), PAD)
    x[:, : length_of(len(elements))] = MASK
    for column, value in enumerate(cell):
        if value is not None:
            x[0, column] = value + FIRST_ANGLE * (column >= 3)
    for number, element in enumerate(elements):
        if element is not None:
            x[0, CELL + PER_ATOM * number] = FIRST_ELEMENT + element
    return x


def volumes(situation: int) -> Volumes:
    """Return terms that are the logarithm of the ratio in one situation and 0 in others, with known elements."""
    made = Volumes()
    with torch.no_grad():
        made.table.zero_()
        made.sizes[-1] = 0
        made.table[situation] = torch.linspace(-WIDEST, WIDEST, BINS) / STEEPNESS
        for element, size in SIZES.items():
            made.sizes[element] = math.log(size / TYPICAL) / GROWTH
    return made


def ratio_at(made: Volumes, x: Tensor, column: int, value: int) -> float:
    """Return the term of one value of one token."""
    terms = [(which, first, terms) for which, first, terms in made(x, torch.tensor([column]), PAD) if len(which)]
    ((_, first, found),) = terms
    return float(found[0, value - first].detach())


@pytest.mark.parametrize(
    "situation, cell, column, value",
    [
        (OF_LENGTH, (None, 40, 50, 80, 70, 100), 0, 35),
        (OF_LENGTH, (40, 50, None, 80, 70, 100), 2, 61),
        (OF_LENGTH + 1, (40, None, 50, 80, None, 100), 1, 35),
        (OF_LENGTH + 3, (40, None, 50, None, None, None), 1, 35),
        (OF_ANGLE, (40, 45, 50, 80, None, 100), 4, FIRST_ANGLE + 95),
        (OF_ANGLE + 2, (40, 45, 50, None, None, None), 3, FIRST_ANGLE + 60),
    ],
)
def test_a_number_of_the_cell_gets_the_term_of_the_volume_it_gives(
    situation: int, cell: tuple[int | None, ...], column: int, value: int
) -> None:
    tried = [*cell]
    tried[column] = value - FIRST_ANGLE * (column >= 3)
    lengths, angles = [side / 10 for side in tried[:3]], [90 if angle is None else angle for angle in tried[3:]]
    volume = Lattice.from_parameters(*lengths, *angles).volume
    found = ratio_at(volumes(situation), crystal(cell, NA, CL, None), column, value)
    assert found == pytest.approx(math.log(volume / (30 + 15 + 20)), abs=1e-4)


def test_an_element_gets_the_term_of_the_room_that_is_left() -> None:
    x = crystal((40, 45, 50, 90, 90, 90), NA, None, None)
    found = [ratio_at(volumes(OF_ELEMENT), x, CELL + PER_ATOM, FIRST_ELEMENT + element) for element in (NA, CL)]
    assert found == pytest.approx([math.log(90 / (30 + 30 + 20)), math.log(90 / (30 + 15 + 20))], abs=1e-4)


def test_a_token_gets_no_term_as_long_as_there_is_no_volume() -> None:
    made, element = Volumes(), CELL + PER_ATOM
    for cell, column in (
        ((None, None, 50, 90, 90, 90), 0),
        ((40, None, 50, 90, None, 90), 4),
        ((40, 45, 50, 90, None, 90), element),
        ((40, 45, 50, 90, 90, 90), element + 1),
    ):
        x = crystal(cell, NA, None)
        assert not [which for which, _, _ in made(x, torch.tensor([column]), PAD) if len(which)]


def test_angles_that_do_not_close_to_a_cell_have_the_least_volume() -> None:
    made, x = volumes(OF_ANGLE), crystal((40, 45, 50, 30, 30, None), NA)
    assert ratio_at(made, x, 5, FIRST_ANGLE + 100) == pytest.approx(-WIDEST)


def test_the_network_adds_them_to_the_logits_of_its_values_alone() -> None:
    torch.manual_seed(0)
    network = build(Options(width=16, depth=1, heads=2, volumes=True), VOCABULARY, length_of(4)).eval()
    x, t = torch.cat([crystal((40, None, 50, 90, 90, 90), NA, CL), crystal((40, 45, 50, 90, 90, 90), NA, None)]), 0.5
    before = network(x, torch.full((2,), t))
    with torch.no_grad():
        network.volumes.table[[OF_LENGTH, OF_ELEMENT]] += 1.0
    change = network(x, torch.full((2,), t)) - before
    assert change[0, 1].nonzero().flatten().tolist() == list(range(FIRST_ANGLE))
    elements = list(range(FIRST_ELEMENT, FIRST_ELEMENT + ELEMENTS))
    assert change[1, CELL + PER_ATOM].nonzero().flatten().tolist() == elements
    assert not bool(change[0, CELL:].any())
    some = torch.tensor([1, x.shape[1] + CELL + PER_ATOM])
    asked = network(x, torch.full((2,), t), at=some)
    assert torch.allclose(asked, network(x, torch.full((2,), t)).flatten(0, 1)[some], atol=1e-5)


def test_what_is_learned_gets_gradients_and_stays_finite_for_absurd_cells() -> None:
    made = volumes(OF_LENGTH)
    x = torch.cat([crystal((0, None, 0, 0, 0, 0), NA, None), crystal((None, 499, 499, 90, 90, 90), NA, CL)])
    total = sum(terms.sum() for _, _, terms in made(x, torch.tensor([1, x.shape[1]]), PAD))
    total.backward()
    assert bool(made.table.grad.isfinite().all())
    assert bool(made.sizes.grad.isfinite().all())
    assert bool(made.table.grad.any())
