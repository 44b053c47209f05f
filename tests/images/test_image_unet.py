"""The U-Net over the pixels of images."""

from typing import Any

import pytest
import torch
from lively import lively
from pydantic import ValidationError
from random_crystals import parameters_of, without_gradient
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config.plugins import MODELS
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.networks.image_unet import Options, build

VOCABULARY = Vocabulary.single(6, specials=1)
GRID = (4, 8, 3)
LENGTH = 4 * 8 * 3
CLASSES = 5
SIZE: dict[str, Any] = {
    "channels": 8,
    "depth": 2,
    "multipliers": (1, 2),
    "head_channels": 8,
    "attention": (2,),
    "dropout": 0.0,
}
TIMES = torch.tensor([0.0, 0.4, 0.9])
LABELS = torch.tensor([0, 3, 4])


def new(**changes: Any) -> Any:
    return build(Options(**SIZE | changes), VOCABULARY, LENGTH, grid=GRID, classes=CLASSES)


@pytest.fixture
def x() -> Tensor:
    return torch.randint(0, 7, (3, LENGTH), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("row, column", [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)])
def test_logits_read_the_token_of_their_own_channel_at_the_place_that_the_last_convolution_looks_at(
    x: Tensor, row: int, column: int
) -> None:
    # One level whose blocks add nothing: embeddings that name the token reach the last convolution as they are.
    tokens, width, channels = VOCABULARY.size, 8, GRID[2]
    network = new(multipliers=(3,), depth=1, attention=()).eval()
    network.norm = nn.Identity()
    with torch.no_grad():
        network.embedding.weight.copy_(torch.eye(tokens, width))
        shortcut = network.up[0][0].residual.shortcut  # from the way up and the way down: the first alone
        shortcut.weight.copy_(torch.eye(channels * width, 2 * channels * width)[..., None, None])
        shortcut.bias.zero_()
        for channel in range(channels):
            for token in range(tokens):
                network.head.weight[channel * tokens + token, channel * width + token, 1 + row, 1 + column] = 1
    logits = network(x, TIMES).view(3, *GRID, tokens)
    named = functional.silu(functional.one_hot(x, tokens).float()).view(3, *GRID, tokens)
    padded = functional.pad(named, (0, 0, 0, 0, 1, 1, 1, 1))
    expected = padded[:, 1 + row : 5 + row, 1 + column : 9 + column]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-6)


def test_before_training_all_logits_are_equal(x: Tensor) -> None:
    assert torch.equal(new()(x, TIMES), torch.zeros(3, LENGTH, VOCABULARY.size))


def test_before_training_blocks_add_nothing() -> None:
    network = new(multipliers=(3,), attention=(4,)).eval()
    features = torch.randn(2, 24, 4, 8, generator=torch.Generator().manual_seed(0))
    condition = torch.randn(2, 32, generator=torch.Generator().manual_seed(1))
    for stage in (*network.down[0], *network.middle):
        torch.testing.assert_close(stage(features, condition), features, rtol=0, atol=0)


@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("time", [True, False])
def test_the_gradient_reaches_every_parameter(x: Tensor, time: bool, conditional: bool) -> None:
    network = lively(new(time=time, conditional=conditional))
    labels = torch.tensor([0, 1, 2]) if conditional else None
    loss = functional.cross_entropy(network(x, TIMES, labels).flatten(0, 1), x.flatten())
    assert without_gradient(network, loss) == []


def test_every_token_matters_for_every_other(x: Tensor) -> None:
    network = lively(new())
    for position in (0, 50, LENGTH - 1):
        changed = x[:1].clone()
        changed[0, position] = (changed[0, position] + 1) % 6
        difference = (network(changed, TIMES[:1]) - network(x[:1], TIMES[:1]))[0].abs().amax(-1)
        assert difference.min() > 1e-4


def test_logits_do_not_depend_on_other_images_of_the_batch(x: Tensor) -> None:
    network = lively(new(conditional=True))
    rows = zip(x, TIMES, LABELS, strict=True)
    alone = torch.cat([network(row[None], t[None], label[None]) for row, t, label in rows])
    torch.testing.assert_close(alone, network(x, TIMES, LABELS), rtol=0, atol=1e-5)


def test_time_matters_if_it_is_told_and_only_then(x: Tensor) -> None:
    network = lively(new())
    assert (network(x, TIMES) - network(x, TIMES.flip(0)))[[0, 2]].abs().amax(-1).min() > 1e-4
    blind = lively(new(time=False))
    assert torch.equal(blind(x, TIMES), blind(x, TIMES.flip(0)))
    assert parameters_of(blind) < parameters_of(network)


@pytest.mark.parametrize("time", [True, False])
def test_the_class_matters_if_it_is_told(x: Tensor, time: bool) -> None:
    network = lively(new(conditional=True, time=time))
    assert (network(x, TIMES, LABELS) - network(x, TIMES, LABELS.flip(0)))[[0, 2]].abs().amax(-1).min() > 1e-4
    assert (network(x, TIMES, LABELS) - network(x, TIMES)).abs().amax(-1).min() > 1e-4


def test_a_dropped_class_is_no_class(x: Tensor) -> None:
    network = lively(new(conditional=True))
    assert torch.equal(network(x, TIMES, torch.full((3,), CLASSES)), network(x, TIMES))


def test_features_are_dropped_in_training_only(x: Tensor) -> None:
    network = lively(new(dropout=0.5))
    assert torch.equal(network(x, TIMES), network(x, TIMES))
    network.train()
    assert not torch.allclose(network(x, TIMES), network(x, TIMES), atol=1e-2)


def test_logits_in_bfloat16_are_those_of_float32_but_for_rounding(x: Tensor) -> None:
    network = lively(new(conditional=True))
    with torch.autocast("cpu", torch.bfloat16):
        rounded = network(x, TIMES, LABELS)
    exact = network(x, TIMES, LABELS)
    assert (rounded.float() - exact).abs().max() < 0.05 * exact.abs().max()


@pytest.mark.parametrize("grid", [(8, 8, 1), (2, 2, 3), (16, 8, 2)])
def test_any_grid_that_can_be_halved_often_enough_will_do(grid: tuple[int, int, int]) -> None:
    length = grid[0] * grid[1] * grid[2]
    network = lively(build(Options(**SIZE | {"attention": (grid[0],)}), VOCABULARY, length, grid=grid, classes=0))
    x = torch.randint(0, 7, (2, length), generator=torch.Generator().manual_seed(0))
    assert network(x, TIMES[:2]).shape == (2, length, 7)


def test_a_side_that_cannot_be_halved_often_enough_is_refused() -> None:
    with pytest.raises(KinoflowError, match=r"multipliers: 3 levels halve the image 2 times, which 6 x 6 pixels"):
        build(Options(**SIZE | {"multipliers": (1, 1, 1)}), VOCABULARY, 36, grid=(6, 6, 1), classes=0)


def test_tokens_without_a_grid_or_of_another_length_are_refused() -> None:
    with pytest.raises(KinoflowError, match="no images; choose another model"):
        build(Options(**SIZE), VOCABULARY, LENGTH, grid=None, classes=0)
    with pytest.raises(KinoflowError, match="grid: 4 x 8 x 3 places, but sequences of 90 tokens"):
        build(Options(**SIZE), VOCABULARY, 90, grid=GRID, classes=0)


def test_classes_that_a_network_does_not_know_are_refused(x: Tensor) -> None:
    with pytest.raises(KinoflowError, match=r"labels: 3 given to a network that knows no classes; .*conditional"):
        new()(x, TIMES, LABELS)
    with pytest.raises(KinoflowError, match=r"conditional: the images have no classes; set it to false"):
        build(Options(**SIZE, conditional=True), VOCABULARY, LENGTH, grid=GRID, classes=0)


def test_attention_at_a_side_that_no_level_has_is_refused() -> None:
    with pytest.raises(KinoflowError, match=r"attention: no level has the side 16; the sides are 4, 2"):
        new(attention=(4, 16))


def test_widths_that_heads_do_not_divide_are_refused() -> None:
    with pytest.raises(
        ValidationError, match=r"channels \(8\) times the last of the multipliers \(2\) must be a multi"
    ):
        Options(**SIZE | {"head_channels": 64})
    with pytest.raises(KinoflowError, match=r"attention: 8 features at side 4 .*head_channels \(16\)"):
        new(head_channels=16, attention=(4,))
    with pytest.raises(ValidationError, match="multiple of 8"):
        Options(channels=12)


def test_options_are_read_from_lists() -> None:
    assert MODELS.options("image_unet", {"multipliers": [1, 2], "attention": []}).multipliers == (1, 2)


def test_the_papers_size_has_113_million_parameters() -> None:
    vocabulary = Vocabulary.single(256, specials=1)
    with torch.device("meta"):
        network = build(Options(), vocabulary, 3 * 32 * 32, grid=(32, 32, 3), classes=10)
        assert network(torch.zeros(1, 3072, dtype=torch.int64), torch.zeros(1)).shape == (1, 3072, 257)
    assert parameters_of(network) == 111_751_011
    assert abs(parameters_of(network) / 113e6 - 1) < 0.02
