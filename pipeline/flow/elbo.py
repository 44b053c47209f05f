"""Integrands of the evidence lower bound: log p(x1) >= the integral over t of their expectation, summed over positions.

Arguments: the path, the posterior [..., K], x1, t and x_t in one shape [...]; the value is [...] in nats per unit of
time.
"""

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.marginal import conditional_rates, marginal_rates, token_rates
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.state import at
from pipeline.flow.velocities import Velocity


def general_elbo(path: Path, velocity: Velocity, posterior: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
    """Return the integrand for any path and velocity (eq:continuous_time_elbo).

    With v(y) = u(y, x_t | x1) and m(y) = u(y, x_t), it is the sum over y != x_t of v - m + v log(m / v), at most 0.
    """
    conditional = conditional_rates(path, velocity, x1, x_t, t)
    marginal = marginal_rates(path, velocity, posterior, x_t, t).to(conditional.dtype)
    moves = conditional > 0
    smallest = torch.finfo(marginal.dtype).tiny  # a posterior that excludes x1 altogether costs a lot, but not NaN
    ratio = torch.where(moves, marginal, 1.0).clamp(min=smallest) / torch.where(moves, conditional, 1.0)
    return (conditional - marginal + torch.where(moves, conditional, 0.0) * ratio.log()).sum(-1)


def mixture_elbo(path: Path, log_posterior: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
    """Return the integrand for a mixture path under its kinetic-optimal velocity, O(K) a token (e:elbo_mixture_path).

    lambda(x_t) p(x_t) - sum_y lambda(y) p(y) + [x_t != x1] lambda(x1) (1 + log p(x1)), p the posterior given x_t.
    """
    path = _mixture(path, "mixture_elbo")
    rates = token_rates(path, t).to(log_posterior.dtype)
    leaving = (rates * log_posterior.exp()).scatter(-1, x_t[..., None], 0.0).sum(-1)
    rate_x1 = path.clock_rate(x1, t).to(log_posterior.dtype)
    return torch.where(x_t != x1, rate_x1 * (1 + at(log_posterior, x1).squeeze(-1)), 0.0) - leaving


def masked_elbo(path: Path, log_posterior: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
    """Return the integrand for a mask source, which only counts masked tokens (a:elbo_masked).

    [x_t = mask] (lambda(x1) (1 + log p(x1)) - sum_y lambda(y) p(y)).
    """
    path = _mixture(path, "masked_elbo")
    if path.needs_time:
        raise FlowError("masked_elbo: the path's source is not a mask; use the loss mixture_elbo")
    rates = token_rates(path, t).to(log_posterior.dtype)
    rate_x1 = path.clock_rate(x1, t).to(log_posterior.dtype)
    integrand = rate_x1 * (1 + at(log_posterior, x1).squeeze(-1)) - (rates * log_posterior.exp()).sum(-1)
    return torch.where(x_t == path.vocabulary.mask, integrand, 0.0)


def _mixture(path: Path, loss: str) -> MixturePath:
    if not isinstance(path, MixturePath):
        raise FlowError(f"{loss}: {type(path).__name__} is not a mixture path; use cross_entropy or general_elbo")
    return path
