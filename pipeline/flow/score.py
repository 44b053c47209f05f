"""The concrete-score parametrisation of SEDD, for mixtures whose scheduler does not depend on the token.

The noising process of such a mixture takes z to x at the rate Q(x, z) = (kappa'/kappa) p(x), whatever x1 is. The score
is the ratio s(x, z) = p_t(x) / p_t(z) for x and z that differ in one position. A network that knows it knows the
velocity.
"""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pipeline.flow.checks import forbid
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.row_terms import row_terms
from pipeline.flow.state import at

_EARLIEST = 1e-6  # the earliest time above 0; before it, kappa may round to 0
_MOMENT = 1e-3  # the earliest time at which scores become a posterior
_LEAST = 1e-30  # the posterior of a token for which the scores leave nothing; the sampler must be able to draw one


def log_scores(path: Path, logits: Tensor, t: Tensor) -> Tensor:
    """Return the logarithms of the concrete scores that a network's logits stand for; t has the shape of the tokens.

    Under a mask source the scores of masked tokens are kappa / (1 - kappa) times the posterior. This factor is added
    here, so the network learns what varies little in time and starts from a uniform posterior. Under other sources the
    log scores are the logits themselves.

    >>> path, t = build_path("mask", Vocabulary.single(2, specials=1)), torch.tensor([0.75], dtype=torch.float64)
    >>> log_scores(path, torch.zeros(1, 3), t).exp()[:, :2]  # 3 = kappa / (1 - kappa), shared by two tokens
    tensor([[1.5000, 1.5000]])
    """
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return logits + log_odds(path, t)[..., None].to(logits.dtype) if not path.needs_time else logits


def log_odds(path: Path, t: Tensor) -> Tensor:
    """Return what `log_scores` adds to the logits: log of kappa / (1 - kappa) / (K - 1) for a mask source, or 0."""
    mixture = _x1_independent(path)
    if path.needs_time:
        return torch.zeros_like(t)
    kappa = mixture.scheduler.kappa(t.clamp(min=_EARLIEST), torch.zeros_like(t, dtype=torch.int64))
    return torch.log(kappa) - torch.log1p(-kappa) - math.log(path.vocabulary.size - 1)


def posterior_logits(path: Path, logits: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return the logarithm of the posterior that a network of scores implies, up to a constant, [..., K].

    See `score_to_posterior`. At t = 0 the scores say nothing about x1, so a slightly later time is used. Under a mask
    source the result is the network's logits.
    """
    if not path.needs_time:
        return logits
    t, kinds = t.clamp(min=_MOMENT), path.vocabulary.kinds_of(z)  # only a mask source gives tokens without a kind
    log_score = log_scores(path, logits.double(), t).scatter(-1, z[..., None], 0.0)  # s(z, z) = 1
    possible = path.vocabulary.targets(kinds)
    posterior = score_to_posterior(path, log_score.masked_fill(~possible, -torch.inf).exp(), kinds, z, t)
    return torch.where(possible, posterior.clamp(min=_LEAST), 0.0).log()


def negative_score_entropy(path: Path, logits: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
    """Return the integrand of the likelihood bound for a network of scores, in nats per unit of time."""
    return -score_entropy(path, logits, x1, t, x_t, log_odds(path, t))


def posterior_to_score(path: Path, posterior: Tensor, kinds: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return s(x, z) = sum over x1 of p(x1 | z) p_t(x | x1) / p_t(z | x1) for all x, [..., K]."""
    source, kappa, likelihood = _parts(path, kinds, z, t)
    weights = posterior / torch.where(likelihood > 0, likelihood, torch.inf)
    return (1 - kappa) * source * weights.sum(-1, keepdim=True) + kappa * weights


def score_to_posterior(path: Path, score: Tensor, kinds: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return p(x1 | z) from the score, the inverse of `posterior_to_score`; t must be above 0.

    The scores of all x, with that of z, sum to C = sum over x1 of p(x1 | z) / p_t(z | x1). So
    p(x1 | z) = p_t(z | x1) (s(x1, z) - (1 - kappa) p(x1) C) / kappa.
    """
    source, kappa, likelihood = _parts(path, kinds, z, t)
    forbid(kappa == 0, "t: at t = 0 the score does not depend on the posterior; use a time above 0")
    weights = (score - (1 - kappa) * source * score.sum(-1, keepdim=True)) / kappa
    return (weights * likelihood).clamp(min=0)


def score_to_velocity(path: Path, score: Tensor, kinds: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return u(x, z) = Q(z, x) s(x, z) per unit of time for all x != z, zero at x = z (ea:score_to_velocity)."""
    rates = _noising_rate(path, kinds, z, t) * score
    return rates.scatter(-1, z[..., None], 0.0)


def score_entropy(
    path: Path, log_score: Tensor, x1: Tensor, t: Tensor, x_t: Tensor, offset: Tensor | None = None
) -> Tensor:
    """Return sum over y != x_t of Q(x_t, y) (s(y) - r(y) log s(y) + r(y) (log r(y) - 1)).

    r(y) = p_t(y | x1) / p_t(x_t | x1). This is SEDD's denoising score entropy, the negative bound for the conditional
    velocity Q(x_t, y) r(y). Except at y = x1, r(y) = a p(y), so the sums need no row of K ratios for each token. An
    `offset` [...] is added to the log scores.
    """
    mixture, kinds = _x1_independent(path), path.vocabulary.kinds_of(x1)
    forbid(t == 0, "t: at t = 0 the score entropy is not defined; use a time above 0")
    t = t.clamp(min=_EARLIEST)
    kappa, table, moved = mixture.scheduler.kappa(t, x1), mixture.source_prob.on(x1.device), x_t != x1
    mass = (1 - kappa) * table[kinds, x_t] + kappa * ~moved  # p_t(x_t | x1)
    share = (1 - kappa) / mass  # a
    log_x1, log_total, _ = row_terms(path.vocabulary, log_score, x1, x_t, without_x_t=True)
    if offset is not None:
        log_x1, log_total = log_x1 + offset, log_total + offset
    scores, ratio_x1 = log_total.exp(), torch.where(moved, share * table[kinds, x1] + kappa / mass, 0.0)
    value = scores - ratio_x1 * torch.where(moved, log_x1, 0.0) + torch.special.xlogy(ratio_x1, ratio_x1) - ratio_x1
    if path.needs_time:  # or no token but x_t is from the source
        value = value + _from_source(mixture, log_score, kinds, x1, x_t, share)
    noising = _noising_rate(path, kinds, x_t, t).squeeze(-1)
    return torch.where(noising > 0, noising * value, 0.0)


def _from_source(path: MixturePath, log_score: Tensor, kinds: Tensor, x1: Tensor, x_t: Tensor, share: Tensor) -> Tensor:
    """Return the sum of r(y) (log r(y) - 1 - log s(y)) with r(y) = a p(y) over all y but x1 and x_t.

    The sum over all y is one product with the source; the terms of x1 and x_t are then taken off.
    """
    table = path.source_prob.on(x1.device)
    entropy, crossing = torch.special.xlogy(table, table).sum(-1)[kinds], torch.zeros_like(share)
    for kind, columns in enumerate(_columns(path, x1.device)):
        product = log_score[..., columns] @ table[kind, columns].to(log_score.dtype)
        crossing = crossing + torch.where(kinds == kind, product, 0.0)
    mass = torch.ones_like(share)
    for token, counts in ((x1, torch.ones_like(x1, dtype=torch.bool)), (x_t, x_t != x1)):
        prob = table[kinds, token] * counts
        mass, entropy = mass - prob, entropy - torch.special.xlogy(prob, prob)
        crossing = crossing - torch.where(prob > 0, prob * at(log_score, token).squeeze(-1), 0.0)
    return share * (entropy + (share.log() - 1) * mass - crossing)


@lru_cache(maxsize=4)
def _columns(path: MixturePath, device: torch.device) -> list[slice | Tensor]:
    """Return the tokens to which the source gives mass, for each kind, as a slice if they are neighbours."""
    columns: list[slice | Tensor] = []
    for source in path.source_prob.values:
        tokens = (source > 0).nonzero().squeeze(-1)
        first, last = int(tokens[0]), int(tokens[-1]) + 1
        columns.append(slice(first, last) if len(tokens) == last - first else tokens.to(device))
    return columns


def _noising_rate(path: Path, kinds: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return Q(z, x) = kappa'/kappa p(z), the same for all x, [..., 1]."""
    mixture = _x1_independent(path)
    kappa = mixture.scheduler.kappa(t, z)
    rate = mixture.scheduler.rate(t, z) * (1 - kappa) / kappa.clamp(min=1e-300)
    return (rate * mixture.source_prob.on(z.device)[kinds, z])[..., None]


def _parts(path: Path, kinds: Tensor, z: Tensor, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return p(x), kappa and p_t(z | x) for all x in shapes that broadcast to [..., K]."""
    mixture = _x1_independent(path)
    source, kappa = mixture.source_prob.on(z.device)[kinds], mixture.scheduler.kappa(t, z)[..., None]
    stayed = ((1 - kappa) * at(source, z)).expand_as(source)
    return source, kappa, stayed.scatter_add(-1, z[..., None], kappa.expand_as(at(source, z)))


def _x1_independent(path: Path) -> MixturePath:
    if not isinstance(path, MixturePath) or path.scheduler.token_dependent:
        raise FlowError(
            "a concrete score needs a noising process that does not depend on x1: a mixture path with a scheduler that "
            "is the same for all tokens (linear, cubic, cosine; kinetic_optimal with a mask or uniform source)"
        )
    return path
