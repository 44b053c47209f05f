"""Entropy and distinct n-grams have their exact values, and fall when samples repeat themselves."""

import math

import pytest
import torch
from torch import Tensor

from pipeline.text.metrics.generative_perplexity import distinct, token_entropy


def random_tokens(count: int, length: int, size: int) -> Tensor:
    return torch.randint(size, (count, length), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    "tokens, entropy",
    [
        ([[7, 7, 7, 7]], 0.0),
        ([[0, 1, 2, 3]], math.log(4)),
        ([[0, 0, 1, 1]], math.log(2)),
        ([[5, 5, 5, 1]], -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))),
        ([[0, 1, 2, 3], [7, 7, 7, 7]], math.log(4) / 2),
        ([[0, 0], [1, 1]], 0.0),
    ],
)
def test_the_entropy_is_that_of_each_samples_own_histogram(tokens: list[list[int]], entropy: float) -> None:
    assert token_entropy(torch.tensor(tokens)) == pytest.approx(entropy, abs=1e-12)


@pytest.mark.parametrize(
    "tokens, size, share",
    [
        ([[7, 7, 7, 7]], 1, 1 / 4),
        ([[7, 7, 7, 7]], 2, 1 / 3),
        ([[0, 1, 0, 1]], 2, 2 / 3),
        ([[0, 1, 0, 1]], 3, 1.0),
        ([[0, 1, 2], [0, 1, 2]], 2, 2 / 4),
        ([[0, 1], [2, 3]], 2, 1.0),  # and not the pair of 1 and 2, across samples
        ([[0, 1, 2]], 3, 1.0),
    ],
)
def test_distinct_is_the_share_of_different_sequences_within_samples(
    tokens: list[list[int]], size: int, share: float
) -> None:
    assert distinct(torch.tensor(tokens), size) == pytest.approx(share)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_distinct_counts_as_a_set_of_sequences_does(size: int) -> None:
    tokens = random_tokens(20, 30, 6)
    grams = [tuple(row[i : i + size]) for row in tokens.tolist() for i in range(30 - size + 1)]
    assert distinct(tokens, size) == len(set(grams)) / len(grams)


def test_large_vocabularies_do_not_overflow() -> None:
    tokens = random_tokens(4, 50, 2**40)
    assert distinct(tokens, 3) == 1.0
    assert token_entropy(tokens) == pytest.approx(math.log(50))
