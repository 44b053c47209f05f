"""Laws of every registered path on its own."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rate_matrices import all_targets

from pipeline.flow.paths import PATHS, Path, example_path
from pipeline.flow.paths.base import Path as BasePath
from pipeline.flow.vocabulary import Vocabulary


def times(least: float, most: float) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(least, most), min_size=20, max_size=20)


@given(times=times(0, 1 - 1e-9))
def test_is_a_distribution_at_every_time(path: Path, times: list[float]) -> None:
    prob = path.log_prob(*all_targets(path, times)).exp()
    assert torch.allclose(prob.sum(-1), torch.ones(()).double(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["mask", "uniform", "statistics", "metric", "geodesic", "kindwise"])
def test_built_in_paths_are_a_point_mass_at_the_end(name: str, vocabulary: Vocabulary) -> None:
    path = example_path(name, vocabulary)
    x1, t = all_targets(path, [1.0])
    assert torch.equal(
        path.log_prob(x1, t).exp().round(decimals=15), torch.nn.functional.one_hot(x1, vocabulary.size).double()
    )


def test_begins_at_a_source_that_does_not_depend_on_x1(path: Path) -> None:
    x1, t = all_targets(path, [0.0])
    source = path.source(path.vocabulary.kinds_of(x1)).exp()
    assert torch.allclose(path.log_prob(x1, t).exp(), source, rtol=0, atol=1e-12)


def test_ends_at_x1(path: Path) -> None:
    x1, t = all_targets(path, [1 - 1e-7])
    assert bool((path.log_prob(x1, t).exp().gather(-1, x1[:, None]) > 1 - 1e-5).all())


@given(times=times(0.02, 0.95))
def test_derivative_agrees_with_finite_differences(path: Path, times: list[float]) -> None:
    x1, now = all_targets(path, times)
    h = 1e-4 * torch.minimum(now, 1 - now)
    prob = {k: path.log_prob(x1, now + k * h).exp() for k in (-2, -1, 1, 2)}
    difference = (8 * (prob[1] - prob[-1]) - (prob[2] - prob[-2])) / (12 * h[:, None])
    exact = path.state(x1, now).prob_dot * path.clock_rate(x1, now)[..., None]
    assert torch.allclose(exact, difference, rtol=1e-5, atol=1e-5 * float(exact.abs().amax()) + 1e-9)


@given(times=times(0.01, 0.97))
def test_clock_rate_is_the_derivative_of_the_clock(path: Path, times: list[float]) -> None:
    x1, now = all_targets(path, times)
    h = 1e-6 * torch.minimum(now, 1 - now)
    difference = (path.clock(x1, now + h) - path.clock(x1, now - h)) / (2 * h)
    assert torch.allclose(path.clock_rate(x1, now), difference, rtol=1e-5, atol=1e-6)


@given(times=times(1e-6, 0.99))
def test_hand_written_state_agrees_with_forward_mode_autodiff(path: Path, times: list[float]) -> None:
    x1, now = all_targets(path, times)
    state, derived = path.state(x1, now), BasePath.state(path, x1, now)
    rate = path.clock_rate(x1, now)[..., None]
    assert torch.allclose(state.log_prob.exp(), derived.log_prob.exp(), rtol=0, atol=1e-9)
    assert torch.allclose(state.prob_dot * rate, derived.prob_dot, rtol=1e-8, atol=1e-8 * float(rate.abs().amax()))


def test_zero_probability_states_stay_without_nan_from_the_first_instant(path: Path) -> None:
    state = path.state(*all_targets(path, [0.0, 1e-310, 1e-12, 0.5, 1 - 1e-12]))
    for field in (state.log_prob, state.prob_dot, state.log_prob_dot):
        assert not bool(field.isnan().any())


@pytest.mark.parametrize("name", PATHS.names())
def test_samples_follow_the_path(name: str) -> None:
    vocabulary = Vocabulary([0, 0, 0, 0, 1, 1, 1, 2, -1])
    path = example_path(name, vocabulary)
    generator = torch.Generator().manual_seed(7)
    count, x1 = 20_000, torch.tensor([1, 5, 7])
    for t in (0.0, 0.4, 0.8):
        time = torch.full((count,), t, dtype=torch.float64)
        drawn = path.sample(x1.expand(count, -1), time, generator)
        expected = path.log_prob(x1, time[:3]).exp()
        for position in range(3):
            seen = torch.bincount(drawn[:, position], minlength=vocabulary.size) / count
            assert float((seen - expected[position]).abs().sum()) / 2 < 0.02
    source = path.sample_source(torch.tensor([0, 1, 2]).expand(count, -1), generator)
    for kind in range(3):
        seen = torch.bincount(source[:, kind], minlength=vocabulary.size) / count
        assert float((seen - path.source(torch.tensor(kind)).exp()).abs().sum()) / 2 < 0.02
