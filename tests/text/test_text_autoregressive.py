"""The transformer that predicts text token by token."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from random_crystals import ROUNDING, parameters_of, stirred, without_gradient
from safetensors.torch import load_model
from torch import Tensor
from torch.nn import functional

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.sampling.autoregressive import sample_in_order
from pipeline.store.tensors import write_network
from pipeline.text.networks import text_autoregressive
from pipeline.text.networks.text_autoregressive import Options, build

VOCABULARY = Vocabulary.single(10, specials=1)
LENGTH = 12
SIZE: dict[str, Any] = {"width": 32, "depth": 2, "heads": 4, "dropout": 0.0}


@pytest.fixture
def network() -> Any:
    return stirred(build(Options(**SIZE), VOCABULARY, LENGTH))


@pytest.fixture
def x() -> Tensor:
    return torch.randint(0, 10, (3, LENGTH), generator=torch.Generator().manual_seed(0))


def test_the_module_says_that_it_is_autoregressive() -> None:
    assert text_autoregressive.AUTOREGRESSIVE is True


@pytest.mark.parametrize("position", [0, 5, LENGTH - 1])
def test_a_token_matters_for_all_later_logits_and_for_no_others(network: Any, x: Tensor, position: int) -> None:
    changed = x[:1].clone()
    changed[0, position] = (changed[0, position] + 1) % 10
    difference = (network(changed) - network(x[:1])).abs().amax(-1)[0]
    assert difference[: position + 1].max() < 1e-6
    assert (difference[position + 1 :] > 1e-4).all()


def test_the_first_logits_come_from_the_mask(network: Any, x: Tensor) -> None:
    before = network(x)
    torch.testing.assert_close(before[:, 0], before[:1, 0].expand(3, -1), rtol=0, atol=1e-6)
    with torch.no_grad():
        network.embedding.weight[VOCABULARY.mask] *= -1
    assert (network(x) - before)[..., :10].abs().amax(-1).min() > 1e-4


def test_the_position_of_a_token_matters(network: Any, x: Tensor) -> None:
    swapped = x[:1].clone()
    swapped[0, :2] = torch.tensor([1, 2])
    other = swapped.clone()
    other[0, :2] = torch.tensor([2, 1])
    assert (network(swapped) - network(other))[0, 3:].abs().amax(-1).min() > 1e-4


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
def test_decoding_with_a_cache_gives_the_logits_of_the_whole_sequence(
    network: Any, x: Tensor, dtype: torch.dtype
) -> None:
    network = network.to(dtype)
    state = network.start(torch.zeros_like(x))
    logits = torch.stack([network.next_logits(tokens, state) for tokens in [None, *x.T[:-1]]], dim=1)
    torch.testing.assert_close(logits, network(x), rtol=0, atol=ROUNDING[dtype])


def test_two_decodings_do_not_disturb_each_other(network: Any, x: Tensor) -> None:
    first, second = (network.start(torch.zeros_like(x)) for _ in range(2))
    for state, rows in ((first, x), (second, x.flip(0))):
        network.next_logits(None, state)
        network.next_logits(rows[:, 0], state)
    after = network.next_logits(x[:, 1], first), network.next_logits(x.flip(0)[:, 1], second).flip(0)
    torch.testing.assert_close(after[0], after[1], rtol=0, atol=1e-5)


def test_samples_follow_the_logits_of_the_whole_sequence(network: Any) -> None:
    kinds = torch.zeros(40, 6, dtype=torch.int64)
    samples = sample_in_order(network, VOCABULARY, kinds, generator=torch.Generator().manual_seed(0), temperature=1e-3)
    likeliest = network(samples)[..., :10].argmax(-1)
    assert torch.equal(samples, likeliest)


def test_decoding_out_of_turn_is_refused(network: Any, x: Tensor) -> None:
    state = network.start(torch.zeros(3, 2, dtype=torch.int64))
    with pytest.raises(KinoflowError, match="tokens: None expected at position 0 of 2"):
        network.next_logits(x[:, 0], state)
    network.next_logits(None, state)
    with pytest.raises(KinoflowError, match="the tokens drawn last expected at position 1 of 2"):
        network.next_logits(None, state)
    network.next_logits(x[:, 0], state)
    with pytest.raises(KinoflowError, match=r"at position 2 of 2.*call start"):
        network.next_logits(x[:, 1], state)


def test_longer_sequences_are_refused_at_once(network: Any) -> None:
    longer = torch.zeros(1, 13, dtype=torch.int64)
    for ask in (network, network.start):
        with pytest.raises(KinoflowError, match=r"length: .*at most 12 tokens, got 13"):
            ask(longer)


def test_a_vocabulary_without_a_mask_is_refused() -> None:
    with pytest.raises(KinoflowError, match=r"vocabulary: .*never data; add one"):
        build(Options(**SIZE), Vocabulary.single(10), LENGTH)


@pytest.mark.parametrize("tied", [True, False])
def test_the_gradient_reaches_every_parameter(x: Tensor, tied: bool) -> None:
    network = stirred(build(Options(**SIZE, tied=tied), VOCABULARY, LENGTH))
    loss = functional.cross_entropy(network(x).flatten(0, 1), x.flatten())
    assert without_gradient(network, loss) == []


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("width", [64, 768])
def test_before_training_all_tokens_are_about_equally_likely(tied: bool, width: int) -> None:
    torch.manual_seed(0)
    tokens = 500
    network = build(Options(width=width, depth=1, heads=4, tied=tied), Vocabulary.single(tokens, specials=1), 64)
    x = torch.randint(0, tokens, (8, 64), generator=torch.Generator().manual_seed(0))
    loss = functional.cross_entropy(network(x).flatten(0, 1), x.flatten())
    assert abs(loss.item() - math.log(tokens)) < 0.2


def test_equal_networks_with_tied_weights_give_equal_files(tmp_path: Path) -> None:
    network = build(Options(**SIZE, tied=True), VOCABULARY, LENGTH)
    files = [tmp_path / str(number) for number in range(12)]
    for file in files:
        write_network(file, "weights", network, {})
    assert len({file.read_bytes() for file in files}) == 1


@pytest.mark.parametrize("tied", [True, False])
def test_weights_are_tied_after_saving_and_loading_if_they_were_before(tmp_path: Path, x: Tensor, tied: bool) -> None:
    options = Options(**SIZE, tied=tied)
    network, loaded = stirred(build(options, VOCABULARY, LENGTH)), build(options, VOCABULARY, LENGTH).eval()
    write_network(tmp_path / "weights", "weights", network, {})
    load_model(loaded, str(tmp_path / "weights"))
    assert torch.equal(loaded(x), network(x))
    assert (loaded.head.linear.weight is loaded.embedding.weight) == tied


def test_logits_in_bfloat16_are_those_of_float32_but_for_rounding(network: Any, x: Tensor) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        rounded = network(x)
        state = network.start(torch.zeros_like(x))
        decoded = torch.stack([network.next_logits(tokens, state) for tokens in [None, *x.T[:-1]]], dim=1)
    torch.testing.assert_close(rounded.float(), network(x), rtol=0.05, atol=0.05)
    torch.testing.assert_close(decoded.float(), network(x), rtol=0.05, atol=0.05)


def test_features_are_dropped_in_training_only(x: Tensor) -> None:
    network = stirred(build(Options(**SIZE | {"dropout": 0.5}), VOCABULARY, LENGTH))
    assert torch.equal(network(x), network(x))
    network.train()
    assert not torch.allclose(network(x), network(x), atol=1e-2)


def test_the_papers_size_has_about_as_many_parameters_as_the_network_with_time() -> None:
    options = Options()
    assert (options.width, options.depth, options.heads, options.dropout) == (768, 16, 12, 0.02)
    vocabulary = Vocabulary.single(50_257, specials=1)
    with torch.device("meta"):
        network = build(options, vocabulary, 1024)
    assert parameters_of(network) == 152_030_208
