"""What the known elements of a crystal say about the hidden ones."""

import pytest
import torch
from random_crystals import VOCABULARY
from torch import Tensor

from pipeline.crystals.networks.contents import ELEMENTS, STEEPNESS, Contents
from pipeline.crystals.networks.crystal_dit import Options, build
from pipeline.crystals.tokens import CELL, FIRST_ELEMENT, MASK, PADDING, PER_ATOM, length_of

NA, CL, OXYGEN = 10, 16, 7  # numbers among the elements
PAD = int((VOCABULARY.kind_of.values == PADDING).nonzero())


def crystal(*elements: int | None, atoms: int = 6) -> Tensor:
    """Return a crystal of which only elements are known (None: hidden), padded, [1, D]."""
    x = torch.full((1, length_of(atoms)), PAD)
    x[:, : length_of(len(elements))] = MASK
    for number, element in enumerate(elements):
        if element is not None:
            x[0, CELL + PER_ATOM * number] = FIRST_ELEMENT + element
    return x


def contents(count: int, distinct: int, left: int) -> Contents:
    """Return terms that are 1 for one entry of the table."""
    made = Contents()
    with torch.no_grad():
        made.table[count, distinct, left] = 1 / STEEPNESS
    return made


@pytest.mark.parametrize(
    "elements, entry, favoured",
    [
        ((NA, None), (1, 1, 0), [NA]),
        ((NA, NA, CL, None), (2, 2, 0), [NA]),
        ((NA, NA, CL, None), (1, 2, 0), [CL]),
        ((NA, CL, OXYGEN, None, None), (1, 3, 1), [NA, CL, OXYGEN]),
        ((NA, CL, None), (1, 3, 0), []),
        ((None, None, None), (0, 0, 2), list(range(ELEMENTS))),
    ],
)
def test_an_element_gets_the_term_of_its_count(
    elements: tuple[int | None, ...], entry: tuple[int, int, int], favoured: list[int]
) -> None:
    x = crystal(*elements)
    hidden = CELL + PER_ATOM * elements.index(None)
    which, terms = contents(*entry)(x, torch.tensor([0, hidden, hidden + 1]), PAD)
    assert which.tolist() == [1]
    assert terms.shape == (1, ELEMENTS)
    assert (terms[0] == 1).nonzero().flatten().tolist() == sorted(favoured)
    assert float(terms.sum()) == len(favoured)


def test_other_crystals_of_a_batch_do_not_count() -> None:
    x = torch.cat([crystal(NA, None), crystal(CL, None)])
    at = torch.tensor([CELL + PER_ATOM, x.shape[1] + CELL + PER_ATOM])
    _, terms = contents(1, 1, 0)(x, at, PAD)
    assert (terms == 1).nonzero().tolist() == [[0, NA], [1, CL]]


def test_the_network_adds_them_to_the_logits_of_elements_alone() -> None:
    torch.manual_seed(0)
    network = build(Options(width=16, depth=1, heads=2, contents=True), VOCABULARY, length_of(6)).eval()
    x, t = crystal(NA, CL, None), torch.tensor([0.5])
    before = network(x, t)
    with torch.no_grad():
        network.contents.table[1, 2, 0] = 1.0
    change = (network(x, t) - before)[0]
    hidden = CELL + 2 * PER_ATOM
    assert change[hidden].nonzero().flatten().tolist() == [FIRST_ELEMENT + NA, FIRST_ELEMENT + CL]
    assert not bool(change[[0, hidden + 1]].any())
    some = torch.tensor([0, hidden, hidden + 1])
    assert torch.allclose(network(x, t, at=some), network(x, t)[0, some], atol=1e-5)
