"""Sequences in one row without pads, and blocks that answer for some tokens only."""

import pytest
import torch
from random_crystals import stirred
from torch import Tensor
from torch.nn import functional

from pipeline.networks.attention import Attention, Rotary, Sight
from pipeline.networks.packing import Packing
from pipeline.networks.transformer import CACHED, Blocks, Perceptron, TanhGelu, TransformerOptions

OPTIONS = TransformerOptions(width=12, depth=3, heads=3, dropout=0.0)
CONDITION_WIDTH = 5
LENGTHS = [20, 3, 17, 1, 40]  # three widths of rectangles


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def packed(counts: Tensor | None = None) -> Sight:
    return Sight(packing=Packing.of(torch.tensor(LENGTHS), torch.ones(sum(LENGTHS)) if counts is None else counts))


def test_blocks_give_packed_sequences_what_they_give_each_alone() -> None:
    blocks, features, condition = stirred(Blocks(OPTIONS, CONDITION_WIDTH)), normal(1, sum(LENGTHS), 12), normal(5, 5)
    together = blocks(features, blocks.modulations(condition), packed())[0].split(LENGTHS)
    for number, (alone, result) in enumerate(zip(features[0].split(LENGTHS), together, strict=True)):
        expected = blocks(alone[None], blocks.modulations(condition[number : number + 1]))[0]
        torch.testing.assert_close(result, expected, rtol=0, atol=1e-5)


def test_packed_sequences_in_bfloat16_are_those_of_float32_but_for_rounding() -> None:
    attention, features = stirred(Attention(12, 3)), normal(1, sum(LENGTHS), 12)
    counts, at = torch.arange(sum(LENGTHS)) % 3 + 1.0, torch.tensor([0, 19])
    for asked in (None, at):
        exact = attention(features, packed(counts), at=asked)
        with torch.autocast("cpu", torch.bfloat16):
            rounded = attention(features, packed(counts), at=asked)
        torch.testing.assert_close(rounded.float(), exact, rtol=0, atol=0.1)


def test_a_token_that_stands_for_several_counts_as_often_in_attention() -> None:
    attention, features = stirred(Attention(12, 3)), normal(1, sum(LENGTHS), 12)
    counts = torch.arange(sum(LENGTHS)) % 3 + 1
    merged = attention(features, packed(counts.float()))[0].split(LENGTHS)
    asked = torch.tensor([0, 19, 22, 80])
    at = attention(features, packed(counts.float()), at=asked)
    torch.testing.assert_close(at, torch.cat(merged)[asked], rtol=0, atol=1e-5)
    parts = zip(features[0].split(LENGTHS), counts.split(LENGTHS), merged, strict=True)
    for alone, count, result in parts:
        expected = attention(alone.repeat_interleave(count, dim=0)[None])[0]
        torch.testing.assert_close(result.repeat_interleave(count, dim=0), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("count", [3, 60], ids=["few", "many"])
@pytest.mark.parametrize("kind", ["all", "hidden", "rotated", "packed", "no condition"])
def test_blocks_at_some_tokens_give_what_they_give_at_all(kind: str, count: int) -> None:
    told = kind != "no condition"
    blocks = stirred(Blocks(OPTIONS, CONDITION_WIDTH if told else None))
    rows, tokens = (1, sum(LENGTHS)) if kind == "packed" else (4, 18)
    features = normal(rows, tokens, 12)
    modulations = blocks.modulations(normal(5 if kind == "packed" else 4, CONDITION_WIDTH) if told else None)
    sight = {
        "hidden": Sight(normal(4, 18) < 1),
        "rotated": Sight(rotation=Rotary(18, 4)(18)),
        "packed": packed(),
    }.get(kind, Sight())
    at = torch.randperm(rows * tokens, generator=torch.Generator().manual_seed(0))[:count]
    assert (sight.narrowed(at, features) is None) == (count == 60)
    expected = blocks(features, modulations, sight).flatten(0, 1)[at]
    torch.testing.assert_close(blocks(features, modulations, sight, at=at), expected, rtol=0, atol=1e-5)


def test_gelu_without_gradients_is_that_of_training() -> None:
    features = 4 * normal(1000)
    expected = functional.gelu(features, approximate="tanh")
    torch.testing.assert_close(TanhGelu()(features), expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(TanhGelu()(features.requires_grad_()), expected, rtol=0, atol=0)


def test_a_perceptron_for_some_tokens_at_a_time_is_that_for_all() -> None:
    perceptron, features = Perceptron(64), normal(2, CACHED // 256, 64)
    expected = perceptron[2](functional.gelu(perceptron[0](features), approximate="tanh"))
    with torch.no_grad():
        result = perceptron(features)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-5)
