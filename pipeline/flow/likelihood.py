"""The likelihood bound, evaluated on a stratified grid of times, with its Monte-Carlo error."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.categorical import uniform
from pipeline.flow.checks import check_count, deferred_checks
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.posterior import Model, log_posterior
from pipeline.flow.rates import Rates, rates_of
from pipeline.flow.schedulers import KineticOptimal, Polynomial, Scheduler
from pipeline.flow.velocities import Velocity
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal

Integrand = Callable[[Path, Tensor, Tensor, Tensor, Tensor], Tensor]  # (path, logits, x1, t, x_t) -> [B, D]


@dataclass(frozen=True)
class Bound:
    """Lower bounds on log p(x1) in nats per sequence, and the standard errors of the estimates, float64[B]."""

    log_prob: Tensor
    standard_error: Tensor


@torch.no_grad()
def evaluate_bound(
    model: Model,
    path: Path,
    x1: Tensor,
    *,
    generator: torch.Generator,
    points: int = 1024,
    end: float = 1 - 1e-4,
    velocity: str | Velocity = kinetic_optimal,
    scheduler: Scheduler | None = None,
    integrand: Integrand | None = None,
    progress: Callable[[int], None] = lambda point: None,
) -> Bound:
    """Estimate the bound for each sequence on the grid kappa_j = (j + eps) end / points (a:text_gen).

    eps is uniform, and the points of a sequence share it. The integral over t becomes one over the kappa of
    `scheduler`, with dt = dkappa / kappa'. By default this is the scheduler of a mixture path, or KineticOptimal(pi/4)
    if that one depends on the token, and kappa = t for other paths. The integral above `end` is left out.

    The integrand is that of the posterior under `velocity`. Pass `integrand` to use another one, for example that of a
    network of scores.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> data, q = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0.25, 0.75])
    >>> model, x1 = ExactPosterior(path, data, q), data[:1].expand(200, 2)
    >>> bound = evaluate_bound(model, path, x1, points=64, generator=torch.Generator().manual_seed(0))
    >>> round(float(bound.log_prob.mean().exp()), 2)  # a mask path with the exact posterior: the bound is tight
    0.25
    """
    check_count(points, "points")
    if points < 2:
        raise FlowError("points: at least 2 are needed for an error estimate")
    if not 0 < end < 1:
        raise FlowError(f"end: must lie in (0, 1), got {end}")
    scheduler = scheduler or _grid_scheduler(path)
    integrand = integrand or _integrand_of(rates_of(path, velocity))
    shift = uniform((len(x1),), generator, x1.device)
    any_token = torch.zeros(len(x1), dtype=torch.int64, device=x1.device)
    terms = []
    with deferred_checks():
        for point in range(points):
            kappa = (point + shift) * (end / points)
            t = scheduler.time(kappa)
            x_t = path.sample(x1, t, generator)
            _, times = path.aligned(x1, t, before_end=True)
            values = integrand(path, model(x_t, t.float()), x1, times, x_t)
            speed = scheduler.rate(t, any_token) * (1 - kappa)
            terms.append(values.double().sum(-1) / speed * (end / points))
            progress(point + 1)
    stacked = torch.stack(terms)
    return Bound(stacked.sum(0), _standard_error(stacked))


def _integrand_of(rates: Rates) -> Integrand:
    """Return the integrand for a network that gives the logits of the posterior."""

    def integrand(path: Path, logits: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
        return rates.elbo(log_posterior(path, logits, x1, x_t), x1, t, x_t)

    return integrand


def _standard_error(values: Tensor) -> Tensor:
    """Return the standard error of sums [B] over strata from their terms [points, B].

    Two things vary. The draws of x_t are independent, and neighbouring strata differ by little else, so half the
    squared difference of a pair estimates the variance of one. The shift of the grid is a uniform number, of variance
    1/12. It moves the sum by the rise from the first term to the last; the rise is averaged over a few strata.
    """
    points = len(values)
    pairs = values[: points // 2 * 2].view(points // 2, 2, -1)
    from_draws = (pairs[:, 0] - pairs[:, 1]).square().sum(0) * (points / (points // 2 * 2))
    few = max(1, points // 16)
    from_shift = (values[-few:].mean(0) - values[:few].mean(0)).square() / 12
    return (from_draws + from_shift).sqrt()


def _grid_scheduler(path: Path) -> Scheduler:
    if not isinstance(path, MixturePath):
        return Polynomial(1)
    return KineticOptimal(math.pi / 4) if path.scheduler.token_dependent else path.scheduler
