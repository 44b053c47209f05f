"""Grids of times: where a sampler's steps end, by name.

A grid is one function of the path and the number of steps. It returns 0 = t_0 < ... < t_steps = 1.
"""

import numpy as np
import torch

from pipeline.flow.checks import check_count
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
    """Return equal steps, as in the paper."""
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
    jumped = np.concatenate([[0.0], _variation(path, torch.as_tensor(times))]).cumsum()
    inner = np.interp(np.arange(1, steps) / steps * jumped[-1], *_rising(jumped, times))
    return [0.0, *inner.tolist(), 1.0]


def _rising(jumped: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave out times at which no more has jumped than before."""
    first = np.concatenate([[True], np.diff(jumped) > 0])
    return jumped[first], times[first]


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
