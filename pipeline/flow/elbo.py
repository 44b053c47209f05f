"""The integrand of the evidence lower bound, for any path and velocity.

log p(x1) is at least the integral over t of the integrand's expectation over x_t, summed over positions.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from pipeline.flow.rates import Rates


def general_elbo(rates: "Rates", posterior: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
    """Return the integrand in nats per unit of time, [...] (eq:continuous_time_elbo).

    With v(y) = u(y, x_t | x1) and m(y) = u(y, x_t), it is the sum over y != x_t of v - m + v log(m / v), at most 0.
    The posterior given x_t is [..., K]; x1, t and x_t have one shape [...].

    >>> path, posterior = build_path("metric", Vocabulary.single(3)), torch.tensor([[0.8, 0.1, 0.1]])
    >>> x1, x_t, t = torch.tensor([0]), torch.tensor([2]), torch.tensor([0.5], dtype=torch.float64)
    >>> general_elbo(rates_of(path, "kinetic_optimal"), posterior, x1, t, x_t)
    tensor([-3.3164], dtype=torch.float64)
    """
    conditional = rates.conditional(x1, x_t, t)
    marginal = rates.marginal(posterior, x_t, t).to(conditional.dtype)
    moves = conditional > 0
    smallest = torch.finfo(marginal.dtype).tiny  # a posterior that excludes x1 costs a lot, but must not give NaN
    ratio = torch.where(moves, marginal, 1.0).clamp(min=smallest) / torch.where(moves, conditional, 1.0)
    return (conditional - marginal + torch.where(moves, conditional, 0.0) * ratio.log()).sum(-1)
