"""The transformer that predicts crystals token by token."""

from typing import Any

import pytest
import torch
from random_crystals import ROUNDING, VOCABULARY, parameters_of, random_crystals, stirred, without_gradient
from torch import Tensor
from torch.nn import functional

from pipeline.crystals.networks import crystal_autoregressive
from pipeline.crystals.networks.crystal_autoregressive import Options, build
from pipeline.crystals.tokens import BEGIN, CELL, FIRST_ELEMENT, MASK, PAD, PER_ATOM, length_of
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary

SMALL = Options(width=32, depth=2, heads=4, dropout=0.0)
ATOMS = (5, 1, 3, 4)


@pytest.fixture
def network() -> Any:
    return stirred(build(SMALL, VOCABULARY, length_of(5)))


@pytest.fixture
def x() -> Tensor:
    return random_crystals(ATOMS, 5)


def test_the_module_says_that_it_is_autoregressive() -> None:
    assert crystal_autoregressive.AUTOREGRESSIVE is True


@pytest.mark.parametrize("position", [0, 3, CELL, CELL + 5, length_of(5) - 1])
def test_a_token_matters_for_all_later_logits_and_for_no_others(network: Any, position: int) -> None:
    x = random_crystals([5], 5)
    changed = x.clone()
    changed[0, position] = MASK
    difference = (network(changed) - network(x)).abs().amax(-1)[0]
    assert difference[: position + 1].max() < 1e-5
    assert (difference[position + 1 :] > 1e-3).all()


def test_the_number_of_atoms_matters_from_the_first_token_on(network: Any) -> None:
    fewer, more = (network(random_crystals([atoms], 5))[0, 0] for atoms in (2, 3))
    assert (fewer - more).abs().max() > 1e-3


def test_the_first_logits_come_from_the_token_that_begins_sequences(network: Any, x: Tensor) -> None:
    before = network(x)
    with torch.no_grad():
        network.embedding.weight[[token for token in range(VOCABULARY.size) if token not in (BEGIN, *x.unique())]] += 1
    torch.testing.assert_close(network(x), before, rtol=0, atol=0)
    with torch.no_grad():
        network.embedding.weight[BEGIN] += torch.randn(32, generator=torch.Generator().manual_seed(1))
    assert (network(x) - before).abs().amax(-1).min() > 1e-3


def test_the_order_of_atoms_matters(network: Any) -> None:
    x = random_crystals([2], 2)
    short = stirred(build(SMALL, VOCABULARY, length_of(2)))
    atoms = x[:, CELL:].view(1, 2, PER_ATOM)
    swapped = torch.cat([x[:, :CELL], atoms.flip(1).flatten(1)], dim=1)
    logits = short(x)[:, CELL:].view(1, 2, PER_ATOM, -1)
    assert (short(swapped)[:, CELL:].view_as(logits) - logits.flip(1)).abs().max() > 1e-2


def test_the_position_of_a_token_matters(network: Any) -> None:
    x = random_crystals([5], 5)
    x[:, CELL::PER_ATOM] = FIRST_ELEMENT
    x[:, :3] = 0
    logits = network(x)[0, 1:4]
    assert torch.cdist(logits, logits)[[0, 0, 1], [1, 2, 2]].min() > 0.01


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
def test_decoding_with_a_cache_gives_the_logits_of_the_whole_sequence(
    network: Any, x: Tensor, dtype: torch.dtype
) -> None:
    network = network.to(dtype)
    state = network.start(VOCABULARY.kinds_of(x))
    before = [None, *x.T[:-1]]
    logits = torch.stack([network.next_logits(tokens, state) for tokens in before], dim=1)
    torch.testing.assert_close(logits, network(x), rtol=0, atol=ROUNDING[dtype])


def test_two_decodings_do_not_disturb_each_other(network: Any, x: Tensor) -> None:
    kinds = VOCABULARY.kinds_of(x)
    first, second = network.start(kinds), network.start(kinds.flip(0))
    for state, rows in ((first, x), (second, x.flip(0))):
        network.next_logits(None, state)
        network.next_logits(rows[:, 0], state)
    after = torch.stack([network.next_logits(x[:, 1], first), network.next_logits(x.flip(0)[:, 1], second).flip(0)])
    torch.testing.assert_close(after[0], after[1], rtol=0, atol=1e-5)


def test_decoding_out_of_turn_is_refused(network: Any, x: Tensor) -> None:
    state = network.start(VOCABULARY.kinds_of(x))
    with pytest.raises(KinoflowError, match="tokens: None expected at position 0 of 26"):
        network.next_logits(x[:, 0], state)
    network.next_logits(None, state)
    with pytest.raises(KinoflowError, match="the tokens drawn last expected at position 1 of 26"):
        network.next_logits(None, state)
    for position in range(25):
        network.next_logits(x[:, position], state)
    with pytest.raises(KinoflowError, match=r"at position 26 of 26.*call start"):
        network.next_logits(x[:, 25], state)


def test_logits_do_not_depend_on_pads_nor_on_other_crystals(network: Any, x: Tensor) -> None:
    whole = network(x)
    alone = torch.cat([network(row[None]) for row in x])
    torch.testing.assert_close(alone, whole, rtol=0, atol=1e-5)
    with torch.no_grad():
        network.embedding.weight[PAD] += 1
    data = x != PAD
    torch.testing.assert_close(network(x)[data], whole[data], rtol=0, atol=1e-5)


def test_before_training_all_tokens_are_equally_likely(x: Tensor) -> None:
    assert not build(SMALL, VOCABULARY, x.shape[1])(x).any()


def test_the_gradient_reaches_every_parameter(network: Any, x: Tensor) -> None:
    loss = functional.cross_entropy(network(x).flatten(0, 1), x.flatten())
    assert without_gradient(network, loss) == []


def test_features_are_dropped_in_training_only(x: Tensor) -> None:
    network = stirred(build(Options(width=32, depth=2, heads=4, dropout=0.5), VOCABULARY, x.shape[1]))
    assert torch.equal(network(x), network(x))
    network.train()
    assert not torch.allclose(network(x), network(x), atol=1e-2)


def test_the_papers_size_has_about_25_million_parameters() -> None:
    options = Options()
    assert (options.width, options.depth, options.heads, options.dropout) == (288, 16, 16, 0.1)
    assert parameters_of(build(options, VOCABULARY, length_of(20))) == 24_635_822


def test_a_crystal_without_atoms_is_refused(network: Any, x: Tensor) -> None:
    x[2, CELL:] = PAD
    with pytest.raises(KinoflowError, match="crystal 2 of a batch has no atoms"):
        network(x)
    with pytest.raises(KinoflowError, match="crystal 2 of a batch has no atoms"):
        network.start(VOCABULARY.kinds_of(x))


def test_a_vocabulary_without_a_token_to_begin_with_is_refused() -> None:
    with pytest.raises(KinoflowError, match=r"begins with a token that is never data.*there is none"):
        build(SMALL, Vocabulary([0, 0, -1, 1], mask=2), length_of(5))


def test_a_length_that_no_crystal_has_is_refused() -> None:
    with pytest.raises(KinoflowError, match=r"length: .*got 85"):
        build(SMALL, VOCABULARY, 85)
