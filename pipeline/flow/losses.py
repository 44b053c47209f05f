"""Training losses by name: (path, logits, x1, x_t, t) -> nats per token, differentiable in the logits.

Tokens x1 and x_t are [B, D] and times t are [B]. Or tokens are [n], some of those of a batch, and `of` [n] says which
time each has. The logits are [B, D, K] or [n, K]. All but cross-entropy are the integrand of a bound: their mean over
uniform t bounds -log p(x1) from above. A token that the source cannot have made has no loss.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pipeline.flow.categorical import uniform
from pipeline.flow.checks import check_count
from pipeline.flow.elbo import general_elbo
from pipeline.flow.errors import FlowError
from pipeline.flow.mixture_bounds import masked_elbo, mixture_elbo, token_rates
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.kindwise import KindwisePath
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.posterior import log_posterior
from pipeline.flow.rates import rates_of
from pipeline.flow.registry import Registry
from pipeline.flow.row_terms import row_terms
from pipeline.flow.score import negative_score_entropy

Loss = Callable[..., Tensor]  # (path, logits, x1, x_t, t, of=None) -> losses

LOSSES: Registry[Loss] = Registry("loss")


def stratified_times(count: int, generator: torch.Generator, end: float = 1 - 1e-3) -> Tensor:
    """Return `count` times in [0, end), one in each of `count` equal intervals, in random order, float64.

    >>> stratified_times(4, torch.Generator().manual_seed(0)).sort().values
    tensor([0.2423, 0.4265, 0.6142, 0.9792], dtype=torch.float64)
    """
    check_count(count, "count")
    if not 0 < end <= 1:
        raise FlowError(f"end: must lie in (0, 1], got {end}")
    offsets = uniform((count,), generator, generator.device)
    order = torch.randperm(count, generator=generator, device=generator.device)
    return ((torch.arange(count, device=generator.device) + offsets) * (end / count))[order]


@LOSSES.register("cross_entropy")
def cross_entropy(path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor, of: Tensor | None = None) -> Tensor:
    """Return -log p(x1 | x_t), for any path (eq:cross_entropy_p1|t).

    >>> path, x1 = build_path("mask", Vocabulary.single(2, specials=1)), torch.tensor([[0, 1]])
    >>> x_t, logits = torch.tensor([[2, 1]]), torch.zeros(1, 2, 3)  # the second token is no longer masked
    >>> cross_entropy(path, logits, x1, x_t, torch.tensor([0.5]))
    tensor([[0.6931, 0.0000]])
    """
    logit, log_total, _ = row_terms(path.vocabulary, logits, x1, x_t)
    return torch.where(path.absorbed(x_t, path.vocabulary.kinds_of(x1)), 0.0, log_total - logit)


@LOSSES.register("mixture_elbo")
def negative_mixture_elbo(
    path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor, of: Tensor | None = None
) -> Tensor:
    """Return the negative bound of a mixture path, or of one for each kind, under its kinetic-optimal velocity.

    >>> path, x1 = build_path("uniform", Vocabulary.single(2), scheduler="linear"), torch.tensor([[0, 1]])
    >>> negative_mixture_elbo(path, torch.zeros(1, 2, 2), x1, torch.tensor([[1, 1]]), torch.tensor([0.5]))
    tensor([[0.3863, 1.0000]])
    """
    if isinstance(path, KindwisePath):
        data, times = _aligned(path, x1, t, of)
        return path.of_kinds(
            path.vocabulary.kinds_of(data),
            lambda own, at: -mixture_elbo(_mixture(own, "mixture_elbo"), logits[at], data[at], times[at], x_t[at]),
        )
    mixture, rates = _mixture(path, "mixture_elbo"), None
    if of is not None and mixture.scheduler.token_dependent:
        rates = token_rates(mixture, t.double()), of
    return -mixture_elbo(mixture, logits, *_aligned(path, x1, t, of), x_t, rates)


@LOSSES.register("masked_elbo")
def negative_masked_elbo(
    path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor, of: Tensor | None = None
) -> Tensor:
    """Return the negative bound of a mask path in its short form: a weighted cross-entropy of the masked tokens.

    >>> path, x1 = build_path("mask", Vocabulary.single(2, specials=1)), torch.tensor([[0, 1]])
    >>> negative_masked_elbo(path, torch.zeros(1, 2, 3), x1, torch.tensor([[2, 1]]), torch.tensor([0.5]))
    tensor([[1.3863, -0.0000]])
    """
    return -masked_elbo(_mixture(path, "masked_elbo"), logits, *_aligned(path, x1, t, of), x_t)


@LOSSES.register("general_elbo")
def negative_general_elbo(
    path: Path,
    logits: Tensor,
    x1: Tensor,
    x_t: Tensor,
    t: Tensor,
    of: Tensor | None = None,
    *,
    velocity: str = "kinetic_optimal",
) -> Tensor:
    """Return the negative bound of any path under any velocity; O(K^2) a token.

    >>> path, x1 = build_path("metric", Vocabulary.single(3)), torch.tensor([[0, 1]])
    >>> x_t, t = torch.tensor([[2, 1]]), torch.tensor([0.5])
    >>> negative_general_elbo(path, torch.zeros(1, 2, 3), x1, x_t, t, velocity="campbell").shape
    torch.Size([1, 2])
    """
    posterior = log_posterior(path, logits.double(), x1, x_t).exp()
    return -general_elbo(rates_of(path, velocity), posterior, *_aligned(path, x1, t, of), x_t)


@LOSSES.register("score_entropy")
def scores_loss(path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor, of: Tensor | None = None) -> Tensor:
    """Return the denoising score entropy of SEDD; see `log_scores` for how logits become concrete scores.

    >>> path, x1 = build_path("mask", Vocabulary.single(2, specials=1)), torch.tensor([[0, 1]])
    >>> scores_loss(path, torch.zeros(1, 2, 3), x1, torch.tensor([[2, 1]]), torch.tensor([0.5]))  # as masked_elbo
    tensor([[1.3863, 0.0000]], dtype=torch.float64)
    """
    return -negative_score_entropy(path, logits, *_aligned(path, x1, t, of), x_t)


def _aligned(path: Path, x1: Tensor, t: Tensor, of: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return x1 and its times, in one shape."""
    return path.aligned(x1, t if of is None else t[of], before_end=True)


def _mixture(path: Path, loss: str) -> MixturePath:
    if not isinstance(path, MixturePath):
        raise FlowError(f"{loss}: {type(path).__name__} is not a mixture path; use cross_entropy or general_elbo")
    return path
