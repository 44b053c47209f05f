"""Evaluation of the likelihood bound on a stratified grid, with its Monte-Carlo error."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.categorical import uniform
from pipeline.flow.checks import check_count
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
    """Lower bounds on log p(x1) in nats per sequence and the standard errors of their estimates, float64[B]."""

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

    eps is uniform and shared by the points of a sequence. The integral over t becomes one over kappa of `scheduler`, t
    = t_kappa, dt = dkappa / kappa'. By default kappa is that of the mixture, or of KineticOptimal(pi/4) where that
    depends on the token, and t itself for other paths. The part of the integral above `end` is left out.
    The integrand is that of the posterior under `velocity`, or another one, such as that of a network of scores.
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
    """Return the integrand for a network whose logits are those of the posterior."""

    def integrand(path: Path, logits: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
        return rates.elbo(log_posterior(path, logits, x1, x_t), x1, t, x_t)

    return integrand


def _standard_error(values: Tensor) -> Tensor:
    """Return the standard error of sums [B] over strata from their terms [points, B].

    The draws of x_t are independent, and neighbouring strata differ by little else: half the squared difference of a
    pair is the variance of one. The shift of the grid is one number: it moves the sum by the rise from the first term
    to the last, times a uniform number, of variance 1/12; the rise is smoothed over a few strata.
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
