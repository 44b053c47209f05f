"""Grids with equal shares of what was measured, and the measurement by a pilot run."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.fitting import measure_errors
from pipeline.flow.grids import GRIDS, fitted, time_grid
from pipeline.flow.paths import PATHS, build_path, example_path
from pipeline.flow.posterior import ExactPosterior
from pipeline.flow.vocabulary import Vocabulary

FIVE = Vocabulary.single(5, specials=1)
THREE = Vocabulary.single(3, specials=1)
PAIRS = torch.tensor([[0, 0], [1, 2], [2, 1], [2, 2], [0, 1]])
SHARES = torch.tensor([0.4, 0.25, 0.2, 0.1, 0.05]).double()


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@given(
    measured=st.lists(st.floats(0.01, 100), min_size=1, max_size=40),
    steps=st.integers(1, 50),
)
def test_every_step_has_the_same_share_of_what_was_measured(measured: list[float], steps: int) -> None:
    grid = fitted(build_path("mask", FIVE), steps, measured=measured)
    assert (len(grid), grid[0], grid[-1]) == (steps + 1, 0.0, 1.0)
    assert all(np.diff(grid) > 0)
    total = np.concatenate([[0.0], np.cumsum(measured)])
    until = np.interp(grid, np.arange(len(measured) + 1) / len(measured), total)
    np.testing.assert_allclose(np.diff(until), total[-1] / steps, rtol=1e-6)


@pytest.mark.parametrize("zeros", [[0.0, 0, 1, 2, 0, 0, 3, 0], [0.0, 1.0], [1.0, 0.0]])
def test_parts_of_the_time_without_any_measure_get_no_end_of_a_step(zeros: list[float]) -> None:
    grid = fitted(build_path("mask", FIVE), 30, measured=zeros)
    assert all(np.diff(grid) > 0)
    inside = np.array(grid[1:-1]) * len(zeros)
    assert all(zeros[min(int(place), len(zeros) - 1)] > 0 or place % 1 == 0 for place in inside)


def test_equal_amounts_make_equal_steps() -> None:
    np.testing.assert_allclose(fitted(build_path("mask", FIVE), 7, measured=[2.0] * 5), time_grid(7), atol=1e-12)


@pytest.mark.parametrize("name", ["mask", "uniform", "metric", "hybrid"])
def test_fitted_to_the_expected_number_of_jumps_it_is_the_grid_of_equal_jumps(name: str) -> None:
    path, data = example_path(name, FIVE), torch.arange(5)
    laws = torch.stack([path.log_prob(data, torch.full((5,), k / 512, dtype=torch.float64)).exp() for k in range(513)])
    jumps = ((laws[1:] - laws[:-1]).clamp(min=0).sum(-1)).mean(-1)  # mass that arrives somewhere
    equal = GRIDS.get("equal_jumps")(path, 10)
    np.testing.assert_allclose(fitted(path, 10, measured=jumps.tolist()), equal, atol=2e-3)


@pytest.mark.parametrize("scheduler", ["linear", "cubic"])
def test_fitted_to_the_errors_of_a_pilot_run_the_scheduler_of_a_mask_does_not_matter(scheduler: str) -> None:
    """Errors are made where tokens are unmasked, so in kappa the grid is the same."""
    path = build_path("mask", THREE, scheduler=scheduler)
    model = ExactPosterior(path, PAIRS, SHARES)
    measured = measure_errors(model, path, steps=40, shape=(20_000, 2), generator=seeded())
    assert len(measured) == 40
    times = torch.tensor(fitted(path, 5, measured=measured), dtype=torch.float64)
    kappa = path.scheduler.kappa(times, torch.zeros(6, dtype=torch.int64))  # type: ignore[attr-defined]
    torch.testing.assert_close(kappa, torch.arange(6).double() / 5, rtol=0, atol=0.06)


@pytest.mark.parametrize("name", [name for name in PATHS.names() if name != "kindwise"])
def test_tokens_that_do_not_depend_on_each_other_show_no_error(name: str) -> None:
    path = example_path(name, THREE)
    both = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    single = torch.tensor([0.5, 0.3, 0.2]).double()
    model = ExactPosterior(path, both, single[both].prod(-1))
    with pytest.raises(FlowError, match="made no error, so there is nothing to fit"):
        measure_errors(model, path, steps=12, shape=(200, 2), generator=seeded())


def test_a_pilot_run_passes_on_what_the_sampler_takes() -> None:
    path = build_path("mask", THREE)
    labels: list[Tensor] = []

    def model(x: Tensor, t: Tensor, labels: Tensor, seen: list[Tensor] = labels) -> Tensor:
        seen.append(labels)
        return ExactPosterior(path, PAIRS, SHARES)(x, t)

    measure_errors(model, path, steps=4, shape=(50, 2), labels=torch.arange(50), generator=seeded())
    assert len(labels) == 4
    assert all(torch.equal(one, torch.arange(50)) for one in labels)


@pytest.mark.parametrize("measured", [[], [0.0, 0.0], [1.0, -1.0], [1.0, float("nan")], [float("inf")]])
def test_numbers_that_are_no_amounts_are_errors(measured: list[float]) -> None:
    with pytest.raises(FlowError, match=r"^grid\.measured: must be finite"):
        fitted(build_path("mask", FIVE), 4, measured=measured)


def test_a_fitted_grid_without_numbers_is_an_error() -> None:
    with pytest.raises(FlowError, match="fitted needs what was `measured`"):
        GRIDS.get("fitted")(build_path("mask", FIVE), 4)


def test_a_pilot_run_of_two_steps_is_too_short() -> None:
    with pytest.raises(FlowError, match="needs at least 3, got 2"):
        measure_errors(ExactPosterior(build_path("mask", THREE), PAIRS, SHARES), build_path("mask", THREE), steps=2)
