"""The velocity of Campbell et al."""

import torch
from torch import Tensor

from pipeline.flow.state import State, at
from pipeline.flow.velocities.net_rates import LARGEST_LOG_RATE, inverse_mass, out_of
from pipeline.flow.velocities.registry import VELOCITIES


@VELOCITIES.register("campbell")
def campbell(state: State, z: Tensor, x1: Tensor) -> Tensor:
    """Net rates for tau = 1 on the support S.

    n(x, z) = (dp(x) - dp(z)) / (|S| p(z)) on S (eq:Campbell_flux). The paper prints |T|, but its derivation has |S|.
    Not safe: the rate grows without bound as p(z) -> 0. Late on a path both dp(x) and p(z) underflow, so the ratio
    dp(x) / p(z) is computed in logarithms.

    >>> path, x1, z = build_path("metric", Vocabulary.single(4), lp=1), torch.tensor([0]), torch.tensor([2])
    >>> state = path.state(x1, torch.tensor([0.5], dtype=torch.float64))
    >>> VELOCITIES.get("campbell")(state, z, x1)  # some tokens move away from x1
    tensor([[0.6855, 0.1282, 0.0000, 0.0153]], dtype=torch.float64)
    """
    support = state.support.double()
    share = support / support.sum(-1, keepdim=True)
    ratio = torch.exp((state.log_prob - at(state.log_prob, z)).clamp(max=LARGEST_LOG_RATE)) * state.log_prob_dot
    gained = torch.where(state.log_prob > -torch.inf, ratio, state.prob_dot * inverse_mass(state, z))
    return out_of(z, state, at(share, z) * gained - share * at(state.log_prob_dot, z))
