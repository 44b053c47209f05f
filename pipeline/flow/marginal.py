"""Conditional and marginal velocities per unit of time, as rows of rates out of the current state."""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from pipeline.flow.chunks import row_chunks
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.velocities import Velocity
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.velocities.net_rates import advancing


def conditional_rates(path: Path, velocity: Velocity, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return u(x, z | x1) for all x != z, zero at x = z, [..., K]; all arguments in one shape."""
    clock_rate = path.clock_rate(x1, t)
    if not bool(clock_rate.isfinite().all()):
        raise FlowError(f"t: the rates of {type(path).__name__} are infinite at t = {t[clock_rate.isinf()][0].item()}")
    return advancing(path.net_rates(velocity, x1, z, t)) * clock_rate[..., None]


def marginal_rates(
    path: Path, velocity: Velocity, posterior: Tensor, z: Tensor, t: Tensor, budget: int | None = None
) -> Tensor:
    """Return u(x, z) = sum over x1 of u(x, z | x1) p(x1 | z) for all x != z, zero at x = z (e:u_t_marginalization).

    `posterior` is [..., K], `z` and `t` are [...]. Costs O(K^2) a token, in chunks within `budget` bytes, but O(K) for
    the kinetic-optimal velocity of a mixture. Differentiable in the posterior.
    """
    if velocity is kinetic_optimal and isinstance(path, MixturePath):
        return mixture_marginal_rates(path, posterior, z, t)
    size, shape = posterior.shape[-1], z.shape
    posterior, z, t = posterior.reshape(-1, size), z.flatten(), t.flatten()
    candidates = (path.vocabulary.kind_of.on(z.device) >= 0).nonzero().squeeze(-1)
    totals = []
    for tokens in row_chunks(len(z), size, budget):
        total = torch.zeros(posterior[tokens].shape, dtype=torch.float64, device=z.device)
        for part in row_chunks(len(candidates), size * len(z[tokens]), budget):
            weights = posterior[tokens][:, candidates[part]].double()
            # Checkpointed: a gradient computes the rates of a chunk again instead of keeping those of all chunks.
            total = total + checkpoint(
                _weighted_rates, path, velocity, weights, candidates[part], z[tokens], t[tokens], use_reentrant=False
            )
        totals.append(total)
    return torch.cat(totals).view(*shape, size)


def _weighted_rates(path: Path, velocity: Velocity, weights: Tensor, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return sum over x1 of weights [n, x1] times u(x, z | x1), [n, K]."""
    shape = weights.shape
    rates = conditional_rates(path, velocity, x1.expand(shape), z[:, None].expand(shape), t[:, None].expand(shape))
    return torch.einsum("nc,nck->nk", weights, rates)


def mixture_marginal_rates(path: MixturePath, posterior: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return u(x, z) = lambda_t(x) p(x | z) for all x != z, zero at x = z: no sum over x1 is needed (eq:mixture_u)."""
    rates = token_rates(path, t) * posterior
    return rates.scatter(-1, z[..., None], 0.0)


def token_rates(path: MixturePath, t: Tensor) -> Tensor:
    """Return lambda_t(x) = kappa'(x) / (1 - kappa(x)) for every token x, in a shape that broadcasts to [..., K]."""
    for axis in range(t.dim()):
        t = t.narrow(axis, 0, 1) if t.stride(axis) == 0 and t.shape[axis] else t  # t was only expanded along it
    if not path.scheduler.token_dependent:
        return path.scheduler.rate(t, torch.zeros_like(t, dtype=torch.int64))[..., None]
    return path.scheduler.rate(t[..., None], torch.arange(path.vocabulary.size, device=t.device))
