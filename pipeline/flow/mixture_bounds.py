"""The integrand of the likelihood bound for mixture paths under the kinetic-optimal velocity, at O(K) a token.

The logarithm of the posterior given x_t is [..., K]; x1, t and x_t have one shape [...]. The value is [...] in nats per
unit of time.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.state import at

if TYPE_CHECKING:
    from pipeline.flow.paths.mixture import MixturePath


def mixture_elbo(path: "MixturePath", log_posterior: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
    """Return the integrand for any mixture path (e:elbo_mixture_path).

    lambda(x_t) p(x_t) - sum_y lambda(y) p(y) + [x_t != x1] lambda(x1) (1 + log p(x1)), p the posterior given x_t.

    >>> path, log_posterior = build_path("uniform", Vocabulary.single(2)), torch.tensor([[0.8, 0.2]]).log()
    >>> x1, x_t, t = torch.tensor([0]), torch.tensor([1]), torch.tensor([0.5], dtype=torch.float64)
    >>> mixture_elbo(path, log_posterior, x1, t, x_t)
    tensor([-0.0878])
    """
    rates = token_rates(path, t).to(log_posterior.dtype)
    leaving = (rates * log_posterior.exp()).scatter(-1, x_t[..., None], 0.0).sum(-1)
    rate_x1 = path.clock_rate(x1, t).to(log_posterior.dtype)
    return torch.where(x_t != x1, rate_x1 * (1 + at(log_posterior, x1).squeeze(-1)), 0.0) - leaving


def masked_elbo(path: "MixturePath", log_posterior: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
    """Return the integrand for a mask source, where only masked tokens count (a:elbo_masked).

    [x_t = mask] (lambda(x1) (1 + log p(x1)) - sum_y lambda(y) p(y)).

    >>> path, log_posterior = build_path("mask", Vocabulary.single(2, specials=1)), torch.tensor([[0.8, 0.2, 0]]).log()
    >>> x1, x_t, t = torch.tensor([0]), torch.tensor([2]), torch.tensor([0.5], dtype=torch.float64)
    >>> masked_elbo(path, log_posterior, x1, t, x_t)  # log(0.8) / (1 - t)
    tensor([-0.4463])
    """
    if path.needs_time:
        raise FlowError("masked_elbo: the path's source is not a mask; use the loss mixture_elbo")
    rates = token_rates(path, t).to(log_posterior.dtype)
    rate_x1 = path.clock_rate(x1, t).to(log_posterior.dtype)
    integrand = rate_x1 * (1 + at(log_posterior, x1).squeeze(-1)) - (rates * log_posterior.exp()).sum(-1)
    return torch.where(x_t == path.vocabulary.mask, integrand, 0.0)


def token_rates(path: "MixturePath", t: Tensor) -> Tensor:
    """Return lambda_t(x) = kappa'(x) / (1 - kappa(x)) for every token x, in a shape that broadcasts to [..., K]."""
    for axis in range(t.dim()):
        t = t.narrow(axis, 0, 1) if t.stride(axis) == 0 and t.shape[axis] else t  # t was only expanded along it
    if not path.scheduler.token_dependent:
        return path.scheduler.rate(t, torch.zeros_like(t, dtype=torch.int64))[..., None]
    return path.scheduler.rate(t[..., None], torch.arange(path.vocabulary.size, device=t.device))
