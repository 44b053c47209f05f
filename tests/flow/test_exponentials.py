"""Exponentials of scores are those of torch, bit for bit, and exactly zero where these underflow."""

import pytest
import torch

from pipeline.flow.exponentials import exp_of_scores

TYPES = (torch.float32, torch.float64)


@pytest.mark.parametrize("dtype", TYPES)
def test_scores_above_the_underflow_have_the_exponentials_of_torch(dtype: torch.dtype) -> None:
    scores = -86.0 * torch.rand(1000, dtype=dtype, generator=torch.Generator().manual_seed(0))
    assert torch.equal(exp_of_scores(scores.clone()), scores.exp())


@pytest.mark.parametrize("dtype", TYPES)
def test_what_underflows_is_zero_and_nan_stays(dtype: torch.dtype) -> None:
    scores = torch.tensor([-torch.inf, -1e4, 0.0, torch.nan], dtype=dtype)
    assert torch.equal(exp_of_scores(scores)[:3], torch.tensor([0.0, 0.0, 1.0], dtype=dtype))
    assert bool(scores[3].isnan()), "the result lies in the place of the scores"
