"""The transformer over text that sees all tokens and the time."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from random_crystals import parameters_of, stirred, without_gradient
from safetensors.torch import load_model, save_model
from torch import Tensor
from torch.nn import functional

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.text.networks.text_dit import Options, build

VOCABULARY = Vocabulary.single(10, specials=1)
LENGTH = 12
SIZE: dict[str, Any] = {"width": 32, "depth": 2, "heads": 4, "dropout": 0.0, "condition": 16}
SMALL = Options(**SIZE)
TIMES = torch.tensor([0.0, 0.4, 0.9])


@pytest.fixture
def network() -> Any:
    return stirred(build(SMALL, VOCABULARY, LENGTH))


@pytest.fixture
def x() -> Tensor:
    tokens = torch.randint(0, 10, (3, LENGTH), generator=torch.Generator().manual_seed(0))
    tokens[:, ::3] = VOCABULARY.mask
    return tokens


def test_every_token_matters_for_every_other(network: Any, x: Tensor) -> None:
    for position in (0, 5, LENGTH - 1):
        changed = x[:1].clone()
        changed[0, position] = (changed[0, position] + 1) % 10
        difference = (network(changed, TIMES[:1]) - network(x[:1], TIMES[:1]))[0].abs().amax(-1)
        assert difference.min() > 1e-4


def test_logits_do_not_depend_on_other_sequences_of_the_batch(network: Any, x: Tensor) -> None:
    alone = torch.cat([network(row[None], t[None]) for row, t in zip(x, TIMES, strict=True)])
    torch.testing.assert_close(alone, network(x, TIMES), rtol=0, atol=1e-5)


def test_a_sequence_of_equal_tokens_looks_the_same_from_everywhere(network: Any) -> None:
    logits = network(torch.full((1, LENGTH), 4), TIMES[:1])[0]
    torch.testing.assert_close(logits, logits[:1].expand_as(logits), rtol=0, atol=1e-5)


def test_the_order_of_tokens_matters(network: Any, x: Tensor) -> None:
    order = torch.tensor([1, 0, *range(2, LENGTH)])
    assert (network(x[:, order], TIMES) - network(x, TIMES)[:, order]).abs().amax(-1).min() > 1e-4


def test_only_distances_between_tokens_matter(network: Any) -> None:
    # Shifted by some places, the rotations are others; what attention makes of them is the same.
    x = torch.randint(0, 10, (2, 6), generator=torch.Generator().manual_seed(1))
    network = network.double()
    condition = network.time(TIMES[:2])
    modulations, head = network.blocks.modulations(condition), network.head.modulation(condition)
    here, there = (network.logits(x, modulations, head, before=before) for before in (0, 6))
    torch.testing.assert_close(there, here, rtol=0, atol=1e-6)  # the tables have the precision of float32


def test_time_matters_if_it_is_told(network: Any, x: Tensor) -> None:
    assert (network(x, TIMES) - network(x, TIMES.flip(0)))[[0, 2]].abs().amax(-1).min() > 1e-3


def test_time_does_not_matter_if_it_is_not_told(x: Tensor) -> None:
    network = stirred(build(Options(**SIZE, time=False), VOCABULARY, LENGTH))
    assert torch.equal(network(x, TIMES), network(x, TIMES.flip(0)))
    assert parameters_of(network) < parameters_of(build(SMALL, VOCABULARY, LENGTH))


@pytest.mark.parametrize("length", [1, 5, LENGTH])
def test_shorter_sequences_are_fine(network: Any, x: Tensor, length: int) -> None:
    assert network(x[:, :length], TIMES).shape == (3, length, 11)


def test_longer_sequences_are_refused(network: Any) -> None:
    with pytest.raises(KinoflowError, match=r"length: .*at most 12 tokens, got 13"):
        network(torch.zeros(1, 13, dtype=torch.int64), TIMES[:1])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("time", [True, False])
def test_the_gradient_reaches_every_parameter(x: Tensor, tied: bool, time: bool) -> None:
    network = stirred(build(Options(**SIZE, tied=tied, time=time), VOCABULARY, LENGTH))
    loss = functional.cross_entropy(network(x, TIMES).flatten(0, 1), x.flatten())
    assert without_gradient(network, loss) == []


@pytest.mark.parametrize("tied", [True, False])
def test_before_training_hidden_tokens_are_about_equally_likely(tied: bool) -> None:
    torch.manual_seed(0)
    tokens = 500
    network = build(Options(width=256, depth=2, heads=4, tied=tied), Vocabulary.single(tokens, specials=1), LENGTH)
    hidden = network(torch.full((1, LENGTH), tokens), TIMES[:1])[0, 0, :tokens]
    targets = torch.arange(tokens)
    loss = functional.cross_entropy(hidden.expand(tokens, -1), targets)
    assert math.log(tokens) - 1e-4 <= loss < math.log(tokens) + 0.1


@pytest.mark.parametrize("tied", [True, False])
def test_weights_are_tied_after_saving_and_loading_if_they_were_before(tmp_path: Path, x: Tensor, tied: bool) -> None:
    options = Options(**SIZE, tied=tied)
    network, loaded = stirred(build(options, VOCABULARY, LENGTH)), build(options, VOCABULARY, LENGTH).eval()
    save_model(network, str(tmp_path / "weights"))
    load_model(loaded, str(tmp_path / "weights"))
    assert torch.equal(loaded(x, TIMES), network(x, TIMES))
    assert (loaded.head.linear.weight is loaded.embedding.weight) == tied
    assert (loaded.head.linear.weight.data_ptr() == loaded.embedding.weight.data_ptr()) == tied


@pytest.mark.parametrize("time", [True, False])
def test_logits_in_bfloat16_are_those_of_float32_but_for_rounding(x: Tensor, time: bool) -> None:
    network = stirred(build(Options(**SIZE, time=time), VOCABULARY, LENGTH))
    with torch.autocast("cpu", torch.bfloat16):
        rounded = network(x, TIMES)
    torch.testing.assert_close(rounded.float(), network(x, TIMES), rtol=0.05, atol=0.05)


def test_features_are_dropped_in_training_only(x: Tensor) -> None:
    network = stirred(build(Options(**SIZE | {"dropout": 0.5}), VOCABULARY, LENGTH))
    assert torch.equal(network(x, TIMES), network(x, TIMES))
    network.train()
    assert not torch.allclose(network(x, TIMES), network(x, TIMES), atol=1e-2)


def test_the_papers_size_has_about_150_million_parameters() -> None:
    options = Options()
    assert (options.width, options.depth, options.heads, options.dropout) == (768, 12, 12, 0.02)
    vocabulary = Vocabulary.single(50_257, specials=1)
    with torch.device("meta"):
        network = build(options, vocabulary, 1024)
    assert parameters_of(network) == 149_449_600


def test_heads_with_an_odd_number_of_features_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"width \(36\) must be an even multiple of heads \(12\)"):
        Options(width=36, heads=12)


@pytest.mark.parametrize("time", [True, False])
def test_logits_at_some_places_are_those_of_all(x: Tensor, time: bool) -> None:
    network, at = stirred(build(Options(**SIZE, time=time), VOCABULARY, LENGTH)), torch.tensor([35, 0, 17])
    torch.testing.assert_close(network(x, TIMES, at=at), network(x, TIMES).flatten(0, 1)[at])


def test_neighbours_say_nothing_before_training_and_only_near_tokens_hear_of_one_after(x: Tensor) -> None:
    told = Options(**SIZE, neighbours=2)
    torch.manual_seed(0)
    network = build(told, VOCABULARY, LENGTH)
    features = network.embedding(x)
    assert torch.equal(network.neighbours(features), features)
    stirred(network)
    changed = x.clone()
    changed[:, 6] = (changed[:, 6] + 1) % 10
    before, after = (network.neighbours(network.embedding(tokens)) for tokens in (x, changed))
    heard = (after - before).abs().amax((0, 2)) > 1e-4
    assert heard.tolist() == [abs(place - 6) <= 2 for place in range(LENGTH)]
