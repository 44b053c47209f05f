"""Parameters and operations as they are counted, against the operations of networks at work."""

from typing import Any

import pytest
import torch
from tiny import TINY_LATENTS
from torch import nn

from pipeline.config import ModelChoice, Tokenizer
from pipeline.crystals import tokens
from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.vqgan import VQGAN, new_discriminator
from pipeline.images.vqvae import VQVAE
from pipeline.inspect.plan.networks import count_lpips, count_network, count_tokenizer, flops_of, is_autoregressive
from pipeline.inspect.plan.shapes import Images, Shape
from pipeline.networks.saved import new_network

ROWS = {"train": 8, "validation": 8, "test": 8}
TEXT = Shape(Vocabulary.single(50, specials=1), 64, ROWS)
CRYSTALS = Shape(tokens.vocabulary(), tokens.length_of(6), ROWS)
PIXELS = Shape(Vocabulary.single(16, specials=1), 64, ROWS, grid=(8, 8, 1), classes=10)
SMALL = {"width": 32, "depth": 2, "heads": 2, "dropout": 0.0}
CASES: dict[str, tuple[dict[str, Any], Shape]] = {
    "text_dit": ({**SMALL, "condition": 8}, TEXT),
    "text_autoregressive": (SMALL, TEXT),
    "crystal_dit": (SMALL, CRYSTALS),
    "crystal_autoregressive": (SMALL, CRYSTALS),
    "image_transformer": (SMALL, PIXELS),
    "image_autoregressive": (SMALL, PIXELS),
    "image_unet": ({"channels": 16, "depth": 1, "multipliers": [1, 2], "head_channels": 16, "attention": [4]}, PIXELS),
}


def choice_of(name: str) -> ModelChoice:
    return ModelChoice(name=name, **CASES[name][0])


def one_sequence(name: str, shape: Shape) -> list[torch.Tensor]:
    x = torch.zeros(1, shape.length, dtype=torch.int64)
    return [x] if is_autoregressive(choice_of(name)) else [x, torch.zeros(1)]


@pytest.mark.parametrize("name", CASES)
def test_a_training_step_takes_three_forward_passes(name: str) -> None:
    shape = CASES[name][1]
    network = new_network(choice_of(name), shape)
    step = flops_of(lambda: network(*one_sequence(name, shape)).sum().backward())
    # The first layers have no gradients of their input, which is a little less.
    assert step == pytest.approx(3 * count_network(choice_of(name), shape).forward, rel=0.04)


@pytest.mark.parametrize("name", CASES)
def test_networks_without_values_are_counted_as_those_at_work(name: str) -> None:
    shape = CASES[name][1]
    network, count = new_network(choice_of(name), shape).requires_grad_(False), count_network(choice_of(name), shape)
    assert count.forward == flops_of(lambda: network(*one_sequence(name, shape)))
    assert count.parameters == sum(parameter.numel() for parameter in network.parameters())


def test_attention_is_counted_on_tensors_without_values() -> None:
    queries = torch.empty(2, 4, 64, 32, device="meta")
    counted = flops_of(lambda: nn.functional.scaled_dot_product_attention(queries, queries, queries, is_causal=True))
    assert counted == 2 * (2 * 4 * 64 * 64 * 32) * 2  # queries by keys, and weights by values


def test_a_transformer_takes_six_flops_a_parameter_and_token_besides_attention() -> None:
    width, depth, length = 128, 4, 64
    shape = Shape(Vocabulary.single(2000, specials=1), length, ROWS)
    model = ModelChoice(name="text_autoregressive", width=width, depth=depth, heads=4)
    count = count_network(model, shape)
    attention = 3 * depth * 4 * length**2 * width
    assert 3 * count.forward == pytest.approx(6 * count.parameters * length + attention, rel=0.02)


@pytest.mark.parametrize("name", ["text_autoregressive", "crystal_autoregressive", "image_autoregressive"])
def test_drawing_token_by_token_takes_about_one_forward_pass(name: str) -> None:
    shape = CASES[name][1]
    network: Any = new_network(choice_of(name), shape).requires_grad_(False)
    kinds = (
        tokens.layout(torch.tensor([6]), 6) if shape is CRYSTALS else torch.zeros(1, shape.length, dtype=torch.int64)
    )

    def draw() -> None:
        state, last = network.start(kinds), None
        for _ in range(shape.length):
            last = network.next_logits(last, state).argmax(-1)

    forward, attention = count_network(choice_of(name), shape).forward, 2 * 4 * shape.length**2 * 32
    assert forward - 0.55 * attention < flops_of(draw) <= forward  # each token looks back only: half the attention


@pytest.mark.parametrize("begins", [True, False])
def test_a_step_of_the_tokenizer_is_counted_with_its_discriminator(begins: bool) -> None:
    values = {**TINY_LATENTS["tokenizer"], "training": {}}
    values["loss"] = {**values["loss"], "adversarial_from": 0 if begins else 100}
    tokenizer = Tokenizer.model_validate(values, strict=False)
    images = Images(ROWS, 8, 8, 1, 17)
    counted = count_tokenizer(tokenizer, 16, images)
    network = VQGAN(
        VQVAE(tokenizer.network, 16, 1, 0.25, 16), tokenizer.loss, 4, None, new_discriminator(tokenizer.loss, 1, 8)
    )
    network(torch.rand(4, 1, 8, 8))  # the first batch says where the codes begin
    step = flops_of(lambda: network(torch.rand(4, 1, 8, 8)).mean().backward())
    assert step / 4 == pytest.approx(counted.step if begins else counted.quiet_step, rel=0.05)


@pytest.mark.parametrize("network, multiplications", [("vgg16", 15.35e9), ("alexnet", 0.656e9)])
def test_lpips_is_as_large_as_the_networks_that_it_is_made_of(network: Any, multiplications: float) -> None:
    picture = torch.empty(1, 3, 224, 224, device="meta")
    two_images_and_a_gradient = 3
    assert count_lpips(network, picture) == pytest.approx(two_images_and_a_gradient * 2 * multiplications, rel=0.01)
