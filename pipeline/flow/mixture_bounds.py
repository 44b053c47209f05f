"""The integrand of the likelihood bound for mixture paths under the kinetic-optimal velocity, at O(K) a token.

The logits of the posterior given x_t are [..., K]; x1, t and x_t have one shape [...]. The value is [...] in nats per
unit of time.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.row_terms import row_terms

if TYPE_CHECKING:
    from pipeline.flow.paths.mixture import MixturePath


def mixture_elbo(
    path: "MixturePath", logits: Tensor, x1: Tensor, t: Tensor, x_t: Tensor, rates: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Return the integrand for any mixture path (e:elbo_mixture_path).

    lambda(x_t) p(x_t) - sum_y lambda(y) p(y) + [x_t != x1] lambda(x1) (1 + log p(x1)), p the posterior given x_t.
    `rates` are lambda of all tokens at some times, and which of these times each token has.

    >>> path, log_posterior = build_path("uniform", Vocabulary.single(2)), torch.tensor([[0.8, 0.2]]).log()
    >>> x1, x_t, t = torch.tensor([0]), torch.tensor([1]), torch.tensor([0.5], dtype=torch.float64)
    >>> mixture_elbo(path, log_posterior, x1, t, x_t)
    tensor([-0.0878])
    """
    rate, moved = path.clock_rate(x1, t), x_t != x1
    if not path.needs_time and not path.scheduler.token_dependent:  # no token of the source is data: p(x_t) = 0
        logit, log_total, _ = row_terms(path.vocabulary, logits, x1, x_t)
        return torch.where(moved, rate.to(logit.dtype) * (logit - log_total), 0.0)
    logit, log_total, leaving = row_terms(path.vocabulary, logits, x1, x_t, *(rates or (token_rates(path, t), None)))
    integrand = torch.where(moved, rate.to(logit.dtype) * (1 + logit - log_total), 0.0) - leaving
    return torch.where(path.absorbed(x_t, path.vocabulary.kinds_of(x1)), 0.0, integrand)


def masked_elbo(path: "MixturePath", logits: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
    """Return the integrand for a mask source, where only masked tokens count (a:elbo_masked).

    [x_t = mask] (lambda(x1) (1 + log p(x1)) - sum_y lambda(y) p(y)).

    >>> path, log_posterior = build_path("mask", Vocabulary.single(2, specials=1)), torch.tensor([[0.8, 0.2, 0]]).log()
    >>> x1, x_t, t = torch.tensor([0]), torch.tensor([2]), torch.tensor([0.5], dtype=torch.float64)
    >>> masked_elbo(path, log_posterior, x1, t, x_t)  # log(0.8) / (1 - t)
    tensor([-0.4463])
    """
    if path.needs_time:
        raise FlowError("masked_elbo: the path's source is not a mask; use the loss mixture_elbo")
    return mixture_elbo(path, logits, x1, t, x_t)


def token_rates(path: "MixturePath", t: Tensor) -> Tensor:
    """Return lambda_t(x) = kappa'(x) / (1 - kappa(x)) for every token x, in a shape that broadcasts to [..., K]."""
    for axis in range(t.dim()):
        t = t.narrow(axis, 0, 1) if t.stride(axis) == 0 and t.shape[axis] else t  # t was only expanded along it
    if not path.scheduler.token_dependent:
        return path.scheduler.rate(t, torch.zeros_like(t, dtype=torch.int64))[..., None]
    return path.scheduler.rate(t[..., None], torch.arange(path.vocabulary.size, device=t.device))
