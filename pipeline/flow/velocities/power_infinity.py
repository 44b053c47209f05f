"""The limit of the power velocities."""

import torch
from torch import Tensor

from pipeline.flow.state import State, at
from pipeline.flow.velocities.net_rates import inverse_mass, rank_one
from pipeline.flow.velocities.registry import VELOCITIES


@VELOCITIES.register("power_infinity")
def power_infinity(state: State, z: Tensor, x1: Tensor) -> Tensor:
    """Net rates for tau = p^alpha, alpha -> infinity: all mass passes through the likeliest state (e:power_inf_flux).

    Ties go to x1, then to the lowest index. The likeliest state need not be x1.

    >>> path, x1, z = build_path("metric", Vocabulary.single(4), lp=1), torch.tensor([0]), torch.tensor([2])
    >>> state = path.state(x1, torch.tensor([0.5], dtype=torch.float64))
    >>> VELOCITIES.get("power_infinity")(state, z, x1)  # straight to x1
    tensor([[0.8290, 0.0000, 0.0000, 0.0000]], dtype=torch.float64)
    """
    likeliest = state.log_prob.max(-1).indices  # the lowest index of the maxima
    tied = at(state.log_prob, x1) == at(state.log_prob, likeliest)
    hub = torch.where(tied.squeeze(-1), x1, likeliest)
    share = torch.zeros_like(state.log_prob).scatter(-1, hub[..., None], 1.0)
    return rank_one(state, z, share, at(share, z) * inverse_mass(state, z))
