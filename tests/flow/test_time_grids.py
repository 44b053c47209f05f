"""Grids of times that are chosen for a path."""

from itertools import pairwise

import pytest
import torch

from pipeline.flow.errors import FlowError
from pipeline.flow.grids import GRIDS
from pipeline.flow.paths import PATHS, build_path, example_path
from pipeline.flow.vocabulary import Vocabulary

FIVE = Vocabulary.single(5, specials=1)


@pytest.mark.parametrize("steps", [1, 2, 7, 64])
@pytest.mark.parametrize("grid", GRIDS.names())
@pytest.mark.parametrize("name", PATHS.names())
def test_every_grid_rises_from_0_to_1(name: str, grid: str, steps: int) -> None:
    times = GRIDS.bind(grid, **GRIDS.example(grid))(example_path(name, FIVE), steps)
    assert (len(times), times[0], times[-1]) == (steps + 1, 0.0, 1.0)
    assert all(earlier < later for earlier, later in pairwise(times))


@pytest.mark.parametrize("name", ["mask", "uniform", "statistics", "metric", "hybrid"])
def test_as_many_tokens_have_to_jump_in_each_step_of_equal_jumps(name: str) -> None:
    path, data = example_path(name, FIVE), torch.arange(5)
    grid = torch.tensor(GRIDS.get("equal_jumps")(path, 8), dtype=torch.float64)
    times = torch.cat([torch.linspace(*ends.tolist(), 51)[:-1] for ends in grid.unfold(0, 2, 1)] + [grid[-1:]])  # finer
    laws = torch.stack(
        [path.log_prob(data, torch.full((5,), time, dtype=torch.float64)).exp() for time in times.tolist()]
    )
    jumps = (laws[1:] - laws[:-1]).abs().sum(-1).mean(-1).view(8, 50).sum(-1) / 2
    assert float(jumps.max() / jumps.min()) < 1.05


@pytest.mark.parametrize("scheduler", ["linear", "cubic", "cosine", "kinetic_optimal", "early_cubic"])
def test_equal_jumps_make_all_schedulers_of_a_mask_the_same(scheduler: str) -> None:
    path = build_path("mask", FIVE, scheduler=scheduler)
    times = torch.tensor(GRIDS.get("equal_jumps")(path, 10), dtype=torch.float64)
    kappa = path.scheduler.kappa(times, torch.zeros(11, dtype=torch.int64))  # type: ignore[attr-defined]
    torch.testing.assert_close(kappa, torch.arange(11).double() / 10, rtol=0, atol=2e-3)


@pytest.mark.parametrize("grid", GRIDS.names())
def test_a_grid_of_no_steps_is_an_error(grid: str) -> None:
    with pytest.raises(FlowError, match="steps: must be a whole number"):
        GRIDS.bind(grid, **GRIDS.example(grid))(example_path("mask", FIVE), 0)
