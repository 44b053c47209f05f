"""The power velocities, a family from Campbell's (alpha -> 0) through the kinetic-optimal one (1) to power infinity."""

import torch
from torch import Tensor

from pipeline.flow.checks import check_positive
from pipeline.flow.state import State, at
from pipeline.flow.velocities.net_rates import LARGEST_LOG_RATE, rank_one
from pipeline.flow.velocities.registry import VELOCITIES


@VELOCITIES.register("power")
def power(state: State, z: Tensor, x1: Tensor, *, alpha: float = 2.0) -> Tensor:
    """Net rates for tau = p^alpha (app:power_inf_velocity).

    alpha = 1 is `kinetic_optimal`; a growing alpha tends to `power_infinity`.

    >>> path, x1, z = build_path("metric", Vocabulary.single(4), lp=1), torch.tensor([0]), torch.tensor([2])
    >>> state = path.state(x1, torch.tensor([0.5], dtype=torch.float64))
    >>> VELOCITIES.bind("power", alpha=3.0)(state, z, x1)  # most of it goes to x1
    tensor([[ 0.7474,  0.0920,  0.0000, -0.0104]], dtype=torch.float64)
    """
    check_positive(alpha, "alpha")
    log_share = torch.log_softmax(alpha * state.log_prob, dim=-1)
    return rank_one(
        state, z, log_share.exp(), torch.exp((at(log_share, z) - at(state.log_prob, z)).clamp(max=LARGEST_LOG_RATE))
    )
