"""What schemes compute: likelihoods, the posterior that is carried over a half step, and its extrapolation."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pipeline.flow.paths import PATHS, Path, build_path, example_path
from pipeline.flow.posterior import ExactPosterior
from pipeline.flow.schemes.theta_trapezoidal import ThetaTrapezoidal, carry
from pipeline.flow.token_likelihoods import log_likelihood
from pipeline.flow.vocabulary import Vocabulary

FOUR = Vocabulary.single(4, specials=1)
LONE = torch.arange(4)[:, None]  # sequences of one token
FREQUENCIES = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)


def scalar(t: float) -> Tensor:
    return torch.tensor(t, dtype=torch.float64)


@pytest.mark.parametrize("t", [0.0, 0.3, 0.9])
def test_likelihoods_are_the_columns_of_the_path(path: Path, t: float) -> None:
    kinds, size = path.vocabulary.kind_of.values, path.vocabulary.size
    z = torch.arange(size).view(1, -1)
    found = log_likelihood(path, z, scalar(t))
    for x1 in range(size):
        if kinds[x1] < 0:
            assert bool((found[..., x1] == -torch.inf).all())
        else:
            expected = path.log_prob(torch.tensor([x1]), scalar(t)[None])[0]
            torch.testing.assert_close(found[0, :, x1].exp(), expected.exp(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in PATHS.names() if name != "kindwise"])
def test_what_a_lone_token_carries_is_its_posterior_at_the_later_time(name: str) -> None:
    path = example_path(name, FOUR)
    model = ExactPosterior(path, LONE, FREQUENCIES)
    for t, later in ((0.0, 0.1), (0.3, 0.5), (0.6, 0.7)):
        x, between = (part.reshape(-1, 1) for part in torch.meshgrid(torch.arange(5), torch.arange(5), indexing="ij"))
        before, after = (
            model(tokens, torch.full((25,), time, dtype=torch.float64)).exp()
            for tokens, time in ((x, t), (between, later))
        )
        carried = carry(path, before, x, t, between, later)
        x1, times = torch.arange(4), torch.full((4,), t, dtype=torch.float64)
        possible = (path.log_prob(x1, times).exp() > 1e-30).any(0)[x[:, 0]] & (carried.sum((-1, -2)) > 0)
        assert int(possible.sum()) >= 5
        stays = (between != x)[:, 0] & path.absorbed(x, torch.zeros_like(x))[:, 0]  # an unmasked token does not change
        here = possible & ~stays
        torch.testing.assert_close(carried[here], after[here], rtol=1e-6, atol=1e-9)


def test_a_token_that_is_still_masked_carries_its_posterior_unchanged() -> None:
    path = build_path("mask", FOUR, scheduler="cubic")
    before = torch.nn.functional.pad(torch.rand(3, 6, 4, generator=torch.Generator().manual_seed(0)).double(), (0, 1))
    before = before / before.sum(-1, keepdim=True)
    x = torch.full((3, 6), 4)
    torch.testing.assert_close(carry(path, before, x, 0.2, x, 0.7), before)


def test_where_a_model_contradicts_its_path_nothing_is_carried_over() -> None:
    path = build_path("mask", FOUR)
    before, x, between = torch.tensor([[[1.0, 0, 0, 0, 0]]]).double(), torch.tensor([[1]]), torch.tensor([[1]])
    carried = carry(path, before, x, 0.2, between, 0.3)
    assert not bool(carried.any())
    assert torch.equal(ThetaTrapezoidal(0.5).extrapolate(carried, before), before)


@given(seed=st.integers(0, 10**6), theta=st.floats(0.01, 0.99))
def test_an_extrapolated_posterior_is_a_distribution_and_that_of_the_paper_unless_it_was_cut(
    seed: int, theta: float
) -> None:
    rows = torch.rand(2, 50, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    old, new = (rows**4 / (rows**4).sum(-1, keepdim=True)).unbind(0)
    found = ThetaTrapezoidal(theta).extrapolate(old, new)
    assert bool((found >= 0).all())
    torch.testing.assert_close(found.sum(-1), torch.ones(50).double())
    alpha_1 = 1 / (2 * theta * (1 - theta))
    alpha_2 = ((1 - theta) ** 2 + theta**2) / (2 * theta * (1 - theta))
    raw = alpha_1 * new - alpha_2 * old
    cut = (raw < 0).any(-1)
    torch.testing.assert_close(found[~cut], raw[~cut], rtol=1e-9, atol=1e-9)
    assert bool((found[raw < 0] == 0).all())
