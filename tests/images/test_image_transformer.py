"""The Llama over images that sees all tokens, the class and the time."""

from typing import Any

import pytest
import torch
from lively import lively
from pydantic import ValidationError
from random_crystals import parameters_of, without_gradient
from torch import Tensor, nn
from torch.nn import functional

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.networks.image_transformer import Options, build
from pipeline.images.networks.llama import DEVIATION, GatedPerceptron
from pipeline.networks.attention import GridRotary, angles_of

VOCABULARY = Vocabulary.single(10, specials=1)
GRID = (3, 4, 1)
LENGTH = 12
CLASSES = 5
SIZE: dict[str, Any] = {"width": 32, "depth": 2, "heads": 4, "multiple": 16}
TIMES = torch.tensor([0.0, 0.4, 0.9])
LABELS = torch.tensor([0, 3, 4])


def new(**changes: Any) -> Any:
    return build(Options(**SIZE | changes), VOCABULARY, LENGTH, grid=GRID, classes=CLASSES)


@pytest.fixture
def network() -> Any:
    return lively(new())


@pytest.fixture
def x() -> Tensor:
    tokens = torch.randint(0, 10, (3, LENGTH), generator=torch.Generator().manual_seed(0))
    tokens[:, ::3] = VOCABULARY.mask
    return tokens


def test_half_of_the_features_turn_with_the_row_and_half_with_the_column() -> None:
    factors = GridRotary(3, 4, features=8, prefix=2)(14).factors[2:].view(3, 4, 4)
    rows, columns = (angles_of(torch.arange(count), 4).float() for count in (3, 4))
    torch.testing.assert_close(factors[..., :2].angle(), rows[:, None].expand(3, 4, 2), rtol=0, atol=1e-6)
    columns = torch.polar(torch.ones_like(columns), columns)  # 3 radians and more come back as other angles
    torch.testing.assert_close(factors[..., 2:], columns.expand(3, 4, 2), rtol=0, atol=1e-6)


def test_dot_products_depend_on_the_differences_of_rows_and_of_columns_only() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 16, generator=generator, dtype=torch.float64)
    rotation = GridRotary(5, 6, features=16).double()(30)
    queries, keys = (rotation.apply(vector.expand(30, 16)) for vector in (query, key))
    products = (queries @ keys.T).view(5, 6, 5, 6)
    torch.testing.assert_close(products[2:, :, 2:], products[:3, :, :3], rtol=0, atol=1e-5)
    torch.testing.assert_close(products[:, 1:, :, 1:], products[:, :5, :, :5], rtol=0, atol=1e-5)
    from_first = products[0, 0].flatten()
    apart = (from_first[:, None] - from_first).abs() + torch.eye(30)
    assert apart.min() > 1e-4


def test_tokens_of_the_prefix_are_not_turned() -> None:
    features = torch.randn(14, 8, generator=torch.Generator().manual_seed(0))
    turned = GridRotary(3, 4, features=8, prefix=2)(14).apply(features)
    assert torch.equal(turned[:3], features[:3])  # the first place of the grid is at angle 0 too
    assert (turned[3:] - features[3:]).abs().amax(-1).min() > 1e-2


def test_the_perceptron_gates_half_of_its_hidden_features_by_the_other_half() -> None:
    perceptron = GatedPerceptron(2, 1)
    with torch.no_grad():
        perceptron.first.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
        perceptron.second.weight.copy_(torch.tensor([[1.0], [-2.0]]))
    value = functional.silu(torch.tensor(3.0)) * 5
    torch.testing.assert_close(perceptron(torch.tensor([[3.0, 5.0]])), torch.stack([value, -2 * value])[None])


@pytest.mark.parametrize("width, multiple, hidden", [(768, 256, 2048), (1024, 256, 2816), (96, 32, 256), (32, 16, 96)])
def test_hidden_features_are_rounded_up_to_a_multiple(width: int, multiple: int, hidden: int) -> None:
    assert Options(width=width, heads=4, multiple=multiple).hidden == hidden


def test_every_token_matters_for_every_other(network: Any, x: Tensor) -> None:
    for position in (0, 5, LENGTH - 1):
        changed = x[:1].clone()
        changed[0, position] = (changed[0, position] + 1) % 10
        difference = (network(changed, TIMES[:1]) - network(x[:1], TIMES[:1]))[0].abs().amax(-1)
        assert difference.min() > 1e-4


def test_logits_stand_at_the_place_of_their_token(x: Tensor) -> None:
    # Blocks that add nothing: each logit sees its own token alone.
    network = lively(new())
    for block in network.blocks:
        nn.init.zeros_(block.attention.combine.weight)
        nn.init.zeros_(block.perceptron.second.weight)
    expected = network.head(network.norm(network.embedding(x)))
    torch.testing.assert_close(network(x, TIMES, LABELS), expected, rtol=0, atol=1e-6)


def test_rows_are_not_columns(network: Any) -> None:
    square = build(Options(**SIZE), VOCABULARY, 9, grid=(3, 3, 1), classes=CLASSES)
    square.load_state_dict(network.state_dict())
    image = torch.arange(9).view(1, 3, 3)
    logits = square.eval()(image.flatten(1), TIMES[:1]).view(1, 3, 3, -1)
    mirrored = square(image.mT.flatten(1), TIMES[:1]).view(1, 3, 3, -1).transpose(1, 2)
    assert (logits - mirrored).abs().amax() > 1e-4


def test_channels_of_a_pixel_are_told_apart() -> None:
    network = lively(build(Options(**SIZE), VOCABULARY, 8, grid=(2, 2, 2), classes=CLASSES))
    image = torch.arange(8)[None]
    swapped = image.view(1, 2, 2, 2).flip(-1).flatten(1)
    back = network(swapped, TIMES[:1]).view(1, 2, 2, 2, -1).flip(-2).flatten(1, 3)
    assert (network(image, TIMES[:1]) - back).abs().amax() > 1e-4


def test_logits_do_not_depend_on_other_images_of_the_batch(network: Any, x: Tensor) -> None:
    rows = zip(x, TIMES, LABELS, strict=True)
    alone = torch.cat([network(row[None], t[None], label[None]) for row, t, label in rows])
    torch.testing.assert_close(alone, network(x, TIMES, LABELS), rtol=0, atol=1e-5)


def test_time_matters_if_it_is_told_and_only_then(network: Any, x: Tensor) -> None:
    assert (network(x, TIMES) - network(x, TIMES.flip(0)))[[0, 2]].abs().amax(-1).min() > 1e-4
    blind = lively(new(time=False))
    assert torch.equal(blind(x, TIMES), blind(x, TIMES.flip(0)))
    assert parameters_of(blind) < parameters_of(network)


def test_the_class_matters_if_it_is_told(network: Any, x: Tensor) -> None:
    told = network(x, TIMES, LABELS)
    assert (told - network(x, TIMES, LABELS.flip(0)))[[0, 2]].abs().amax(-1).min() > 1e-4
    assert (told - network(x, TIMES)).abs().amax(-1).min() > 1e-4


def test_a_dropped_class_is_no_class(network: Any, x: Tensor) -> None:
    assert torch.equal(network(x, TIMES, torch.full((3,), CLASSES)), network(x, TIMES))


def test_before_training_all_logits_are_equal_and_weights_are_small(x: Tensor) -> None:
    torch.manual_seed(0)
    network = new(width=128)
    assert torch.equal(network(x, TIMES, LABELS), torch.zeros(3, LENGTH, VOCABULARY.size))
    drawn = [weight for name, weight in network.named_parameters() if weight.dim() == 2 and name != "head.weight"]
    assert len(drawn) == 2 + 2 * 4 + 2  # embeddings of tokens and classes, blocks, time
    for weight in drawn:
        assert abs(weight.std().item() / DEVIATION - 1) < 0.1


@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("time", [True, False])
def test_the_gradient_reaches_every_parameter(x: Tensor, time: bool, conditional: bool) -> None:
    network = lively(new(time=time, conditional=conditional))
    labels = torch.tensor([0, 1, 2]) if conditional else None
    loss = functional.cross_entropy(network(x, TIMES, labels).flatten(0, 1), x.flatten())
    assert without_gradient(network, loss) == []


def test_no_block_has_a_bias() -> None:
    assert [name for name, _ in new(time=False).named_parameters() if name.endswith("bias")] == []


def test_features_are_dropped_in_training_only(x: Tensor) -> None:
    network = lively(new(dropout=0.5))
    assert torch.equal(network(x, TIMES), network(x, TIMES))
    network.train()
    assert not torch.allclose(network(x, TIMES), network(x, TIMES), atol=1e-2)


def test_logits_in_bfloat16_are_those_of_float32_but_for_rounding(network: Any, x: Tensor) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        rounded = network(x, TIMES, LABELS)
    torch.testing.assert_close(rounded.float(), network(x, TIMES, LABELS), rtol=0.05, atol=0.02)


def test_what_the_network_is_not_made_for_is_refused(x: Tensor) -> None:
    with pytest.raises(KinoflowError, match="no images; choose another model"):
        build(Options(**SIZE), VOCABULARY, LENGTH, grid=None, classes=0)
    with pytest.raises(KinoflowError, match=r"conditional: the images have no classes; set it to false"):
        build(Options(**SIZE), VOCABULARY, LENGTH, grid=GRID, classes=0)
    with pytest.raises(KinoflowError, match=r"labels: 3 given to a network that knows no classes"):
        new(conditional=False)(x, TIMES, LABELS)
    with pytest.raises(KinoflowError, match=r"length: .*at most 12 tokens, got 13"):
        new()(torch.zeros(1, 13, dtype=torch.int64), TIMES[:1])
    with pytest.raises(ValidationError, match=r"width \(24\) must be heads \(4\) times a multiple of 4"):
        Options(width=24, heads=4)


@pytest.mark.parametrize("time, parameters", [(True, 111_677_952), (False, 110_889_984)])
def test_the_papers_size_has_111_million_parameters(time: bool, parameters: int) -> None:
    vocabulary = Vocabulary.single(16_384, specials=1)
    with torch.device("meta"):
        network = build(Options(time=time), vocabulary, 256, grid=(16, 16, 1), classes=1000)
    assert parameters_of(network) == parameters
    assert abs(parameters / 111e6 - 1) < 0.02


def test_logits_at_some_places_are_those_of_all(network: Any, x: Tensor) -> None:
    at = torch.tensor([35, 0, 17])
    logits = network(x, TIMES, labels=LABELS)
    torch.testing.assert_close(network(x, TIMES, labels=LABELS, at=at), logits.flatten(0, 1)[at])
