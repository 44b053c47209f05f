"""The parts of transformers."""

import pytest
import torch
from random_crystals import stirred
from torch import Tensor

from pipeline.networks.attention import Attention, KeyValueCache, Sight
from pipeline.networks.transformer import (
    Blocks,
    Head,
    TimeEmbedding,
    TransformerOptions,
    modulated_norm,
    sinusoidal_positions,
)

OPTIONS = TransformerOptions(width=12, depth=3, heads=3, dropout=0.0)
CONDITION_WIDTH = 5


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_blocks_are_the_identity_before_training() -> None:
    blocks, features = Blocks(OPTIONS, CONDITION_WIDTH), normal(2, 4, 12)
    assert torch.equal(blocks(features, blocks.modulations(normal(2, CONDITION_WIDTH))), features)


def test_a_condition_matters_for_its_own_sequence_only() -> None:
    blocks, features, condition = stirred(Blocks(OPTIONS, CONDITION_WIDTH)), normal(2, 4, 12), normal(2, 5)
    other = condition.clone()
    other[1] += 1
    before, after = (blocks(features, blocks.modulations(given)) for given in (condition, other))
    torch.testing.assert_close(after[0], before[0], rtol=0, atol=1e-6)
    assert (after[1] - before[1]).abs().max() > 1e-2


def test_attention_is_the_weighted_mean_of_values() -> None:
    attention, features = stirred(Attention(12, 3)), normal(1, 4, 12)
    queries, keys, values = (attention.project(features)[0].chunk(3, dim=-1)[part].view(4, 3, 4) for part in range(3))
    heads = [
        torch.softmax(queries[:, head] @ keys[:, head].T / 2, dim=-1) @ values[:, head]  # 2 = sqrt(features of a head)
        for head in range(3)
    ]
    expected = attention.combine(torch.cat(heads, dim=-1))
    torch.testing.assert_close(attention(features)[0], expected, rtol=0, atol=1e-5)


def test_hidden_tokens_are_as_if_they_were_not_there() -> None:
    attention, features = stirred(Attention(12, 3)), normal(2, 5, 12)
    seen = torch.tensor([[True, False, True, True, False], [True] * 5])
    hidden = attention(features, Sight(seen))
    torch.testing.assert_close(hidden[:1, seen[0]], attention(features[:1, seen[0]]), rtol=0, atol=1e-6)
    torch.testing.assert_close(hidden[1:], attention(features[1:]), rtol=0, atol=1e-6)


def test_a_cache_gives_what_causal_attention_gives_at_once() -> None:
    blocks, features = stirred(Blocks(OPTIONS, CONDITION_WIDTH)), normal(2, 6, 12)
    modulations, sight = blocks.modulations(normal(2, CONDITION_WIDTH)), Sight(causal=True)
    caches = [KeyValueCache(6) for _ in range(OPTIONS.depth)]
    with torch.no_grad():
        steps = [blocks(token[:, None], modulations, sight, caches) for token in features.unbind(1)]
    torch.testing.assert_close(torch.cat(steps, dim=1), blocks(features, modulations, sight), rtol=0, atol=1e-5)


def test_a_norm_is_scaled_and_shifted() -> None:
    features, shift, scale = normal(2, 3, 12) * 5 + 2, normal(2, 1, 12, seed=1), normal(2, 1, 12, seed=2)
    deviation = features.var(-1, correction=0, keepdim=True).add(1e-5).sqrt()
    expected = (features - features.mean(-1, keepdim=True)) / deviation * (1 + scale) + shift
    torch.testing.assert_close(modulated_norm(features, shift, scale), expected, rtol=0, atol=1e-5)


def test_a_head_follows_its_condition() -> None:
    head, features, condition = stirred(Head(12, CONDITION_WIDTH, 7)), normal(2, 3, 12), normal(2, CONDITION_WIDTH)
    logits = head(features, head.modulation(condition))
    assert logits.shape == (2, 3, 7)
    assert (head(features, head.modulation(condition + 1)) - logits).abs().max() > 1e-2


def test_close_times_are_told_apart() -> None:
    torch.manual_seed(0)
    embedded = TimeEmbedding(8)(torch.tensor([0.5, 0.501, 0.9]))
    assert embedded.shape == (3, 8)
    assert torch.pdist(embedded).min() > 1e-2


def test_sinusoidal_positions_have_their_formula() -> None:
    positions = sinusoidal_positions(7, 6)
    angle = torch.tensor(5 / 10_000 ** (2 / 6))
    torch.testing.assert_close(positions[5, 2:4], torch.stack([angle.sin(), angle.cos()]))
    assert torch.pdist(sinusoidal_positions(86, 32)).min() > 0.5


@pytest.mark.parametrize("causal", [False, True])
def test_blocks_compute_in_bfloat16_as_in_float32_but_for_rounding(causal: bool) -> None:
    blocks, features = stirred(Blocks(OPTIONS, CONDITION_WIDTH)), normal(2, 4, 12)
    condition, sight = normal(2, CONDITION_WIDTH), Sight(causal=causal)
    exact = blocks(features, blocks.modulations(condition), sight)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = blocks(features, blocks.modulations(condition), sight)
    torch.testing.assert_close(rounded.float(), exact, rtol=0.05, atol=0.05)


def test_blocks_without_a_condition_are_the_identity_before_training() -> None:
    blocks, features = Blocks(OPTIONS, None), normal(2, 4, 12)
    assert torch.equal(blocks(features, blocks.modulations()), features)
    stirred(blocks)
    assert (blocks(features, blocks.modulations()) - features).abs().amax(-1).min() > 1e-2


def test_blocks_without_a_condition_are_those_of_one_that_says_nothing() -> None:
    constant, told = stirred(Blocks(OPTIONS, None)), stirred(Blocks(OPTIONS, CONDITION_WIDTH))
    weights = {name: values for name, values in constant.state_dict().items() if not name.endswith("modulation.values")}
    told.load_state_dict(weights, strict=False)
    with torch.no_grad():
        for block, other in zip(constant.blocks, told.blocks, strict=True):
            other.modulation.linear.bias.copy_(block.modulation.values.flatten())
    features, silent = normal(2, 4, 12), torch.zeros(2, CONDITION_WIDTH)
    expected = told(features, told.modulations(silent))
    torch.testing.assert_close(constant(features, constant.modulations()), expected, rtol=0, atol=1e-6)


def test_a_head_can_be_tied_to_an_embedding() -> None:
    embedding = torch.nn.Embedding(7, 12)
    head, features = Head(12, None, 7, embedding), normal(2, 3, 12)
    expected = torch.nn.functional.layer_norm(features, (12,)) @ embedding.weight.T
    torch.testing.assert_close(head(features, head.modulation()), expected, rtol=0, atol=1e-6)
    assert [name for name, _ in head.named_parameters()] == ["modulation.values", "linear.weight"]
    assert head.linear.weight is embedding.weight
