"""The Llama that predicts images token by token."""

from typing import Any

import pytest
import torch
from lively import lively
from random_crystals import ROUNDING, parameters_of, without_gradient
from torch import Tensor
from torch.nn import functional

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.networks import image_autoregressive
from pipeline.images.networks.image_autoregressive import Options, build
from pipeline.sampling.autoregressive import sample_in_order

VOCABULARY = Vocabulary.single(10, specials=1)
GRID = (3, 4, 1)
LENGTH = 12
CLASSES = 5
SIZE: dict[str, Any] = {"width": 32, "depth": 2, "heads": 4, "multiple": 16}
LABELS = torch.tensor([0, 3, CLASSES])


def new(**changes: Any) -> Any:
    return build(Options(**SIZE | changes), VOCABULARY, LENGTH, grid=GRID, classes=CLASSES)


def decoded(network: Any, x: Tensor, labels: Tensor | None) -> Tensor:
    state = network.start(torch.zeros_like(x), labels)
    return torch.stack([network.next_logits(tokens, state) for tokens in [None, *x.T[:-1]]], dim=1)


@pytest.fixture
def network() -> Any:
    return lively(new())


@pytest.fixture
def x() -> Tensor:
    return torch.randint(0, 10, (3, LENGTH), generator=torch.Generator().manual_seed(0))


def test_the_module_says_that_it_is_autoregressive() -> None:
    assert image_autoregressive.AUTOREGRESSIVE is True


@pytest.mark.parametrize("position", [0, 5, LENGTH - 1])
def test_a_token_matters_for_all_later_logits_and_for_no_others(network: Any, x: Tensor, position: int) -> None:
    network, changed = network.double(), x[:1].clone()
    changed[0, position] = (changed[0, position] + 1) % 10
    difference = (network(changed) - network(x[:1])).abs().amax(-1)[0]
    assert (difference[: position + 1] < 1e-12).all()
    assert (difference[position + 1 :] > 1e-4).all()


def test_the_first_logits_come_from_the_class_alone(network: Any, x: Tensor) -> None:
    same = network(x, torch.full((3,), 2))[:, 0]
    torch.testing.assert_close(same, same[:1].expand(3, -1), rtol=0, atol=1e-6)
    others = network(x, torch.tensor([0, 1, 2]))[:, 0]
    assert (others[:2] - same[:2]).abs().amax(-1).min() > 1e-2


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
@pytest.mark.parametrize("labels", [LABELS, None], ids=["classes", "no classes"])
def test_decoding_with_a_cache_gives_the_logits_of_the_whole_image(
    network: Any, x: Tensor, labels: Tensor | None, dtype: torch.dtype
) -> None:
    network = network.to(dtype)
    logits, whole = decoded(network, x, labels), network(x, labels)
    torch.testing.assert_close(logits, whole, rtol=0, atol=ROUNDING[dtype])
    assert torch.equal(logits.argmax(-1), whole.argmax(-1))


def test_the_class_matters_for_all_logits(network: Any, x: Tensor) -> None:
    network = network.double()
    told = network(x, torch.tensor([0, 1, 2]))
    assert (told - network(x, torch.tensor([1, 2, 0]))).abs().amax(-1).min() > 1e-4
    assert (told - network(x)).abs().amax(-1).min() > 1e-4


def test_a_dropped_class_is_no_class(network: Any, x: Tensor) -> None:
    dropped = torch.full((3,), CLASSES)
    assert torch.equal(network(x, dropped), network(x))
    assert torch.equal(decoded(network, x, dropped), decoded(network, x, None))


def test_two_decodings_do_not_disturb_each_other(network: Any, x: Tensor) -> None:
    first, second = network.start(torch.zeros_like(x), LABELS), network.start(torch.zeros_like(x))
    for tokens in [None, *x.T[:4]]:
        after = network.next_logits(tokens, first), network.next_logits(tokens, second)
    torch.testing.assert_close(after[0], network(x, LABELS)[:, 4], rtol=0, atol=1e-5)
    torch.testing.assert_close(after[1], network(x)[:, 4], rtol=0, atol=1e-5)


def test_samples_follow_the_logits_of_the_whole_image(network: Any) -> None:
    kinds = torch.zeros(20, LENGTH, dtype=torch.int64)
    samples = sample_in_order(network, VOCABULARY, kinds, generator=torch.Generator().manual_seed(0), temperature=1e-4)
    assert torch.equal(samples, network(samples)[..., :10].argmax(-1))


def test_a_network_without_classes_begins_with_a_single_embedding(x: Tensor) -> None:
    network = lively(build(Options(**SIZE, conditional=False), VOCABULARY, LENGTH, grid=GRID, classes=0))
    assert network.classes.embedding.weight.shape == (1, 32)
    torch.testing.assert_close(decoded(network, x, None), network(x), rtol=0, atol=1e-5)
    for ask in (network, network.start):
        with pytest.raises(KinoflowError, match=r"labels: 3 given to a network that knows no classes"):
            ask(x, LABELS)


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


def test_tokens_without_a_grid_or_classes_are_refused() -> None:
    with pytest.raises(KinoflowError, match="no images; choose another model"):
        build(Options(**SIZE), VOCABULARY, LENGTH, grid=None, classes=0)
    with pytest.raises(KinoflowError, match=r"conditional: the images have no classes; set it to false"):
        build(Options(**SIZE), VOCABULARY, LENGTH, grid=GRID, classes=0)


@pytest.mark.parametrize("conditional", [True, False])
def test_the_gradient_reaches_every_parameter(x: Tensor, conditional: bool) -> None:
    network = lively(new(conditional=conditional))
    logits = network(x, torch.tensor([0, 1, 2]) if conditional else None)
    assert without_gradient(network, functional.cross_entropy(logits.flatten(0, 1), x.flatten())) == []


def test_before_training_all_logits_are_equal(x: Tensor) -> None:
    assert torch.equal(new()(x, LABELS), torch.zeros(3, LENGTH, VOCABULARY.size))


def test_logits_in_bfloat16_are_those_of_float32_but_for_rounding(network: Any, x: Tensor) -> None:
    exact = network(x, LABELS)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(network(x, LABELS).float(), exact, rtol=0.05, atol=0.02)
        torch.testing.assert_close(decoded(network, x, LABELS).float(), exact, rtol=0.05, atol=0.02)


def test_the_papers_size_has_111_million_parameters() -> None:
    vocabulary = Vocabulary.single(16_384, specials=1)
    with torch.device("meta"):
        network = build(Options(), vocabulary, 256, grid=(16, 16, 1), classes=1000)
    assert parameters_of(network) == 110_889_984
    assert abs(parameters_of(network) / 111e6 - 1) < 0.02
