"""How much cheaper are losses, with their gradients, from terms of each row than from rows of K probabilities?

The slow way is the formula that the fast one replaced: a posterior for every token, multiplied by a rate for each of
its K values.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.timing import Comparison, compare
from pipeline.flow import build_path
from pipeline.flow.losses import LOSSES
from pipeline.flow.mixture_bounds import token_rates
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.posterior import log_posterior
from pipeline.flow.score import log_scores
from pipeline.flow.state import at
from pipeline.flow.vocabulary import Vocabulary

SIZES = ((878, 16, 64), (50257, 2, 64))  # tokens of the vocabulary, sequences, tokens of each
CASES = (
    ("cross_entropy", "mask"),
    ("mixture_elbo", "mask"),
    ("mixture_elbo", "uniform"),
    ("mixture_elbo", "statistics"),
    ("score_entropy", "mask"),
    ("score_entropy", "uniform"),
)


def answers(sizes: tuple[tuple[int, int, int], ...] = SIZES) -> list[Comparison]:
    """Compare both ways for some losses, paths and sizes of the vocabulary."""
    return [_answer(loss, path, *size) for size in sizes for loss, path in CASES]


def cross_entropy_of_rows(path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
    """Return the cross-entropy, from rows of the posterior."""
    return -at(log_posterior(path, logits, x1, x_t), x1).squeeze(-1)


def mixture_elbo_of_rows(path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
    """Return the negative bound of a mixture, from rows of the posterior and of the rates."""
    assert isinstance(path, MixturePath)
    log_prob, (x1, times) = log_posterior(path, logits, x1, x_t), path.aligned(x1, t)
    rates = token_rates(path, times).to(log_prob.dtype)
    leaving = (rates * log_prob.exp()).scatter(-1, x_t[..., None], 0.0).sum(-1)
    rate_x1 = path.clock_rate(x1, times).to(log_prob.dtype)
    return leaving - torch.where(x_t != x1, rate_x1 * (1 + at(log_prob, x1).squeeze(-1)), 0.0)


def score_entropy_of_rows(path: Path, logits: Tensor, x1: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
    """Return the score entropy, from rows of scores and of the source."""
    assert isinstance(path, MixturePath)
    x1, t = path.aligned(x1, t)
    log_score, kinds, moved = log_scores(path, logits, t), path.vocabulary.kinds_of(x1), x_t != x1
    kappa, table = path.scheduler.kappa(t, x1), path.source_prob.values
    mass = (1 - kappa) * table[kinds, x_t] + kappa * ~moved
    share = (1 - kappa) / mass
    others = table[0] if path.vocabulary.kinds == 1 else table[kinds]
    others = others.expand(log_score.shape).scatter(-1, x_t[..., None], 0.0)
    others = others.scatter(-1, x1[..., None], 0.0).to(log_score.dtype)
    possible = path.vocabulary.targets(kinds) | (others > 0)
    scores = log_score.masked_fill(~possible, -torch.inf).exp().scatter(-1, x_t[..., None], 0.0).sum(-1)
    ratio_x1 = torch.where(moved, share * table[kinds, x1] + kappa / mass, 0.0)
    crossing = share * (others * torch.where(others > 0, log_score, 0.0)).sum(-1)
    crossing = crossing + ratio_x1 * torch.where(moved, at(log_score, x1).squeeze(-1), 0.0)
    constant = share * (torch.special.xlogy(others, others).sum(-1) + (share.log() - 1) * others.sum(-1))
    constant = constant + torch.special.xlogy(ratio_x1, ratio_x1) - ratio_x1
    noising = path.scheduler.rate(t, x_t) * (1 - kappa) / kappa * table[kinds, x_t]
    return torch.where(noising > 0, noising * (scores - crossing + constant), 0.0)


OF_ROWS: dict[str, Callable[..., Tensor]] = {
    "cross_entropy": cross_entropy_of_rows,
    "mixture_elbo": mixture_elbo_of_rows,
    "score_entropy": score_entropy_of_rows,
}


def _answer(loss: str, name: str, size: int, sequences: int, length: int) -> Comparison:
    generator, vocabulary = torch.Generator().manual_seed(0), Vocabulary.single(size - 1, specials=1)
    options = {"counts": torch.arange(size).flip(0)} if name == "statistics" else {"scheduler": "linear"}
    path = build_path(name, vocabulary, **options)
    x1 = torch.randint(size - 1, (sequences, length), generator=generator)
    t = torch.rand(sequences, generator=generator, dtype=torch.float64) * 0.9 + 0.05
    x_t = path.sample(x1, t, generator)
    logits = torch.randn(sequences, length, size, generator=generator).requires_grad_()

    def gradient(function: Callable[..., Tensor]) -> Tensor:
        return torch.autograd.grad(function(path, logits, x1, x_t, t).mean(), logits)[0]

    return compare(
        f"{loss}, {name}, K = {size}",
        ("rows", lambda: gradient(OF_ROWS[loss])),
        ("terms", lambda: gradient(LOSSES.get(loss))),
    )
