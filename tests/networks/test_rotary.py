"""Rotary positions."""

import math

import pytest
import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.networks.attention import Rotary, Rotation, angles_of


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rotation_at(positions: list[int], features: int) -> Rotation:
    angles = angles_of(torch.tensor(positions), features)
    return Rotation(torch.complex(angles.cos(), angles.sin()))


def test_dot_products_depend_on_the_distance_of_two_tokens_only() -> None:
    query, key = normal(8), normal(8, seed=1)
    positions = list(range(50))
    queries, keys = (rotation_at(positions, 8).apply(vector.expand(50, 8)) for vector in (query, key))
    products = queries @ keys.T
    torch.testing.assert_close(products[20:, 20:], products[:30, :30], rtol=0, atol=1e-10)
    assert products[0].diff().abs().min() > 1e-4


def test_each_pair_of_neighbours_is_turned_by_its_own_angle() -> None:
    turned = rotation_at([3], 4).apply(torch.tensor([[1.0, 0.0, 0.0, 1.0]], dtype=torch.float64))
    first, second = 3, 3 / 10_000 ** (2 / 4)
    expected = [math.cos(first), math.sin(first), -math.sin(second), math.cos(second)]
    assert turned[0].tolist() == pytest.approx(expected, abs=1e-12)


def test_turning_keeps_lengths_and_the_first_token() -> None:
    features = normal(2, 3, 16, 8)
    turned = rotation_at(list(range(16)), 8).apply(features)
    torch.testing.assert_close(turned.norm(dim=-1), features.norm(dim=-1), rtol=0, atol=1e-12)
    torch.testing.assert_close(turned[..., 0, :], features[..., 0, :], rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_features_keep_their_type(dtype: torch.dtype) -> None:
    features = normal(2, 5, 8).to(dtype)
    turned = Rotary(5, 8)(5).apply(features)
    assert turned.dtype == dtype
    expected = rotation_at(list(range(5)), 8).apply(features.double())
    torch.testing.assert_close(turned.double(), expected, rtol=0, atol=2e-2 if dtype == torch.bfloat16 else 1e-6)


def test_positions_count_on_after_the_tokens_before() -> None:
    rotary = Rotary(12, 8)
    assert torch.equal(rotary(3, before=5).factors, rotary(12).factors[5:8])


def test_tables_are_neither_parameters_nor_saved() -> None:
    rotary = Rotary(12, 8)
    assert not list(rotary.parameters())
    assert not rotary.state_dict()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_tables_follow_the_type_of_their_module(dtype: torch.dtype) -> None:
    turned = Rotary(4, 8).to(dtype)(4).apply(normal(4, 8).to(dtype))
    torch.testing.assert_close(turned.double(), rotation_at([0, 1, 2, 3], 8).apply(normal(4, 8)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("tokens, before", [(13, 0), (1, 12), (8, 5)])
def test_positions_beyond_the_tables_are_refused(tokens: int, before: int) -> None:
    with pytest.raises(KinoflowError, match=rf"length: .*at most 12 tokens, got {tokens + before}"):
        Rotary(12, 8)(tokens, before)
