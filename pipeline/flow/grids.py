"""Grids of times: where a sampler's steps end, by name.

A grid is one function of the path and the number of steps. It returns 0 = t_0 < ... < t_steps = 1.
"""

from typing import Any

import numpy as np
import torch

from pipeline.flow.checks import check_count
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.registry import Registry

GRIDS: Registry = Registry("grid")
_TIMES, _TOKENS = 1024, 32  # how finely a path is looked at, and for how many x1


def time_grid(steps: int) -> list[float]:
    """Return 0 = t_0 < ... < t_steps = 1 in equal steps. Each time is a fraction, so rounding adds no step.

    >>> time_grid(4)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    check_count(steps, "steps")
    return [step / steps for step in range(steps + 1)]


@GRIDS.register("uniform")
def uniform(path: Path, steps: int) -> list[float]:
    """Return equal steps, as in the paper.

    >>> uniform(build_path("mask", Vocabulary.single(4, specials=1)), 2)
    [0.0, 0.5, 1.0]
    """
    return time_grid(steps)


@GRIDS.register("equal_jumps")
def equal_jumps(path: Path, steps: int) -> list[float]:
    """Return steps in each of which as many tokens have to jump, on average over x1.

    In a short step, at least the total variation between p_t and p_{t+h} has to jump. On a mixture that is
    kappa_{t+h} - kappa_t, so this grid makes all schedulers that do not depend on the token the same.

    >>> path = build_path("mask", Vocabulary.single(4, specials=1), scheduler="cubic")
    >>> [round(t**3, 3) for t in equal_jumps(path, 4)]
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    check_count(steps, "steps")
    times = np.arange(_TIMES + 1) / _TIMES
    return _equal_shares(_variation(path, torch.as_tensor(times)), steps)


def _made_up(*_: Any) -> dict[str, Any]:
    return {"measured": [3.0, 1.0, 0.0, 2.0]}


@GRIDS.register("fitted", example=_made_up)
def fitted(path: Path, steps: int, *, measured: list[float] | None = None) -> list[float]:
    """Return steps with equal shares of what was `measured` in equal parts of the time, such as errors or jumps.

    `measure_errors` measures the errors of a pilot run, of a network or of an exact posterior.

    >>> path = build_path("mask", Vocabulary.single(4, specials=1))
    >>> fitted(path, 4, measured=[3.0, 1.0])  # three quarters of the error are made before t = 1/2
    [0.0, 0.16666666666666666, 0.3333333333333333, 0.5, 1.0]
    """
    check_count(steps, "steps")
    if measured is None:
        raise FlowError("grid: fitted needs what was `measured`, a list of numbers for equal parts of the time")
    amounts = np.array(measured, dtype=float)
    if not len(amounts) or not np.isfinite(amounts).all() or (amounts < 0).any() or amounts.sum() == 0:
        raise FlowError("grid.measured: must be finite numbers of at least 0, and not all 0")
    return _equal_shares(amounts, steps)


def _equal_shares(amounts: np.ndarray, steps: int) -> list[float]:
    """Return times with equal shares of amounts that are given for equal parts of the time."""
    times = np.arange(len(amounts) + 1) / len(amounts)
    total = np.concatenate([[0.0], amounts]).cumsum()
    inner = np.interp(np.arange(1, steps) / steps * total[-1], total, times)
    return [0.0, *inner.tolist(), 1.0]


def _variation(path: Path, times: torch.Tensor) -> np.ndarray:
    """Return the mean total variation of the path between each time and the next."""
    data = (path.vocabulary.kind_of.values >= 0).nonzero().squeeze(-1)
    x1 = data[torch.linspace(0, len(data) - 1, min(len(data), _TOKENS)).round().long()]
    before, found = path.log_prob(x1, times[:1].expand(len(x1))).exp(), []
    for time in times[1:]:
        now = path.log_prob(x1, time.expand(len(x1))).exp()
        found.append(float((now - before).abs().sum(-1).mean()) / 2)
        before = now
    return np.array(found)
