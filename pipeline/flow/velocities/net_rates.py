"""Net rates n(x, z) = g(x, z) / p(z): how velocities build them, and how samplers use them.

All velocities but the Laplacian solve have a flux of rank one, g(x, z) = dp(x) s(z) - s(x) dp(z), with shares
s = tau / sum(tau). A row of it costs O(K).
"""

import torch
from torch import Tensor

from pipeline.flow.state import State, at

LARGEST_LOG_RATE = 500.0


def advancing(net_rates: Tensor) -> Tensor:
    """Return the rates u(x, z) = [n(x, z)]_+ that move p_t forward; zero at x = z.

    >>> advancing(torch.tensor([-0.5, 0.0, 0.25]))
    tensor([0.0000, 0.0000, 0.2500])
    """
    return net_rates.clamp(min=0)


def preserving(net_rates: Tensor) -> Tensor:
    """Return the corrector's rates |n(x, z)|; they leave p_t unchanged (e:symmetric_flux). Zero at x = z."""
    return net_rates.abs()


def rank_one(state: State, z: Tensor, share: Tensor, share_per_mass_z: Tensor) -> Tensor:
    """Return dp(x) s(z) / p(z) - s(x) dp(z) / p(z), the net rates for tau of rank one (e:closed_form_rank_1)."""
    return out_of(z, state, state.prob_dot * share_per_mass_z - share * at(state.log_prob_dot, z))


def inverse_mass(state: State, z: Tensor) -> Tensor:
    """Return 1 / p(z), capped before it overflows: a jump at such a rate is certain anyway."""
    return torch.exp(-at(state.log_prob, z).clamp(min=-LARGEST_LOG_RATE))


def out_of(z: Tensor, state: State, net_rates: Tensor) -> Tensor:
    """Clear the rate from z to itself, and every rate out of a state without mass (e:velocity_from_flux)."""
    net_rates = net_rates.scatter(-1, z[..., None], 0.0)
    return torch.where(at(state.log_prob, z) > -torch.inf, net_rates, 0.0)
