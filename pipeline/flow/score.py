"""The concrete-score parametrisation of SEDD, for mixtures whose scheduler does not depend on the token.

The noising process of such a mixture takes z to x at the rate Q(x, z) = (kappa'/kappa) p(x), whatever x1 is; a network
that knows the ratios s(x, z) = p_t(x) / p_t(z), x and z differing in one position, then knows the velocity.
"""

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.state import at


def posterior_to_score(path: Path, posterior: Tensor, kinds: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return s(x, z) = sum over x1 of p(x1 | z) p_t(x | x1) / p_t(z | x1) for all x, [..., K]."""
    source, kappa, likelihood = _parts(path, kinds, z, t)
    weights = torch.where(posterior > 0, posterior / likelihood, 0.0)
    return (1 - kappa) * source * weights.sum(-1, keepdim=True) + kappa * weights


def score_to_posterior(path: Path, score: Tensor, kinds: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return p(x1 | z) from the score, the inverse of `posterior_to_score`; t must be above 0.

    The scores of all x, that of z included, sum to C = sum over x1 of p(x1 | z) / p_t(z | x1), so that
    p(x1 | z) = p_t(z | x1) (s(x1, z) - (1 - kappa) p(x1) C) / kappa.
    """
    source, kappa, likelihood = _parts(path, kinds, z, t)
    if bool((kappa == 0).any()):
        raise FlowError("t: at t = 0 the score does not depend on the posterior; use a time above 0")
    weights = (score - (1 - kappa) * source * score.sum(-1, keepdim=True)) / kappa
    return (weights * likelihood).clamp(min=0)


def score_to_velocity(path: Path, score: Tensor, kinds: Tensor, z: Tensor, t: Tensor) -> Tensor:
    """Return u(x, z) = Q(z, x) s(x, z) per unit of time for all x != z, zero at x = z (ea:score_to_velocity)."""
    rates = _noising_rate(path, kinds, z, t) * score
    return rates.scatter(-1, z[..., None], 0.0)


def score_entropy(path: Path, log_score: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
    """Return sum over y != x_t of Q(x_t, y) (s(y) - r(y) log s(y) + r(y) (log r(y) - 1)).

    r(y) = p_t(y | x1) / p_t(x_t | x1). SEDD's denoising score entropy: the negative bound for the conditional velocity
    Q(x_t, y) r(y).
    """
    kinds = path.vocabulary.kinds_of(x1)
    log_prob = path.log_prob(x1, t)
    ratio = torch.exp(log_prob - at(log_prob, x_t))
    possible = path.vocabulary.targets(kinds) | (path.source(kinds) > -torch.inf)
    log_score = torch.where(possible, log_score, -torch.inf)
    crossing = torch.where(ratio > 0, ratio * (torch.where(ratio > 0, log_score, 0.0) - torch.log(ratio) + 1), 0.0)
    terms = (log_score.exp() - crossing).scatter(-1, x_t[..., None], 0.0)
    noising = _noising_rate(path, kinds, x_t, t)
    return torch.where(noising > 0, noising * terms, 0.0).sum(-1)


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
