"""Training losses by name: (path, logits, x1, x_t, t) -> nats per token [B, D], differentiable in the logits.

All but cross-entropy are the integrand of a bound: their mean over uniform t bounds -log p(x1) from above.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pipeline.flow.categorical import uniform
from pipeline.flow.checks import check_count
from pipeline.flow.elbo import general_elbo
from pipeline.flow.errors import FlowError
from pipeline.flow.mixture_bounds import masked_elbo, mixture_elbo
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.posterior import log_posterior
from pipeline.flow.rates import rates_of
from pipeline.flow.registry import Registry
from pipeline.flow.score import negative_score_entropy
from pipeline.flow.state import at

Loss = Callable[[Path, Tensor, Tensor, Tensor, Tensor], Tensor]

LOSSES: Registry[Loss] = Registry("loss")


def stratified_times(count: int, generator: torch.Generator, end: float = 1 - 1e-3) -> Tensor:
    """Return `count` times in [0, end), one in each of as many equal intervals, in random order, float64."""
    check_count(count, "count")
    if not 0 < end <= 1:
        raise FlowError(f"end: must lie in (0, 1], got {end}")
    offsets = uniform((count,), generator, generator.device)
    order = torch.randperm(count, generator=generator, device=generator.device)
    return ((torch.arange(count, device=generator.device) + offsets) * (end / count))[order]


@LOSSES.register("cross_entropy")
def cross_entropy(path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
    """Return -log p(x1 | x_t), defined for every path (eq:cross_entropy_p1|t)."""
    return -at(log_posterior(path, logits, x1, x_t), x1).squeeze(-1)


@LOSSES.register("mixture_elbo")
def negative_mixture_elbo(path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
    """Return the negative bound of a mixture path under its kinetic-optimal velocity."""
    mixture, log_prob = _mixture(path, "mixture_elbo"), log_posterior(path, logits, x1, x_t)
    return -mixture_elbo(mixture, log_prob, *path.aligned(x1, t, before_end=True), x_t)


@LOSSES.register("masked_elbo")
def negative_masked_elbo(path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
    """Return the negative bound of a mask path in its short form."""
    mixture, log_prob = _mixture(path, "masked_elbo"), log_posterior(path, logits, x1, x_t)
    return -masked_elbo(mixture, log_prob, *path.aligned(x1, t, before_end=True), x_t)


@LOSSES.register("general_elbo")
def negative_general_elbo(
    path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor, *, velocity: str = "kinetic_optimal"
) -> Tensor:
    """Return the negative bound of any path under any velocity; O(K^2) a token."""
    posterior = log_posterior(path, logits.double(), x1, x_t).exp()
    return -general_elbo(rates_of(path, velocity), posterior, *path.aligned(x1, t, before_end=True), x_t)


@LOSSES.register("score_entropy")
def scores_loss(path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
    """Return the denoising score entropy of SEDD; `log_scores` says how the logits are concrete scores."""
    return -negative_score_entropy(path, logits, *path.aligned(x1, t, before_end=True), x_t)


def _mixture(path: Path, loss: str) -> MixturePath:
    if not isinstance(path, MixturePath):
        raise FlowError(f"{loss}: {type(path).__name__} is not a mixture path; use cross_entropy or general_elbo")
    return path
