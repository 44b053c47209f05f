"""Which of several structures for one composition the network finds likeliest.

The bound on the log-likelihood of cell and places, given the elements, is estimated with the same times for all. Its
integrand counts the masked tokens only, so it is for mask paths.
"""

import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.flow.categorical import uniform
from pipeline.flow.checks import deferred_checks
from pipeline.flow.losses import negative_mixture_elbo
from pipeline.flow.paths.base import Path
from pipeline.networks.saved import SavedModel

POINTS = 24  # times at which the integrand is evaluated
END = 1 - 1e-3


def mask_path(model: SavedModel) -> Path:
    """Return the path of a network whose likelihoods can be compared; other networks are an error."""
    if model.path is None or model.path.needs_time or not model.answers_at:
        raise KinoflowError(
            f"run {model.description.run!r}: prediction.pick: likeliest needs a mask path, and a network that answers "
            "for some tokens only, such as crystal_dit; take pick: first, or name other prediction.runs"
        )
    return model.path


@torch.no_grad()
def log_likelihoods(model: SavedModel, tokens: Tensor, fixed: Tensor, generator: torch.Generator) -> Tensor:
    """Return estimated bounds on the log-likelihoods of tokens [N, D] given those that are `fixed`, float64[N]."""
    path = mask_path(model)
    total = torch.zeros(len(tokens), dtype=torch.float64, device=tokens.device)
    shift = float(uniform((1,), generator, tokens.device))
    with deferred_checks():
        for point in range(POINTS):
            t = torch.full((len(tokens),), (point + shift) * END / POINTS, dtype=torch.float64, device=tokens.device)
            hidden = torch.where(fixed, tokens, path.sample(tokens, t, generator))
            at = (hidden != tokens).flatten().nonzero().squeeze(-1)
            logits, of = model.posterior(hidden, t.float(), at=at), at // tokens.shape[1]
            losses = negative_mixture_elbo(path, logits, tokens.flatten()[at], hidden.flatten()[at], t, of)
            total.index_add_(0, of, losses.double() * (-END / POINTS))
    return total


def likeliest_first(values: Tensor, samples: int) -> Tensor:
    """Return the order [N] that puts the likeliest of each `samples` structures before the others of its target.

    >>> likeliest_first(torch.tensor([0.1, 0.3, 0.2, 0.9, 0.8, 0.7]), samples=3)
    tensor([1, 0, 2, 3, 4, 5])
    """
    places = torch.arange(len(values)).view(-1, samples)
    best = values.cpu().view(-1, samples).argmax(dim=1, keepdim=True)
    rank = torch.where(torch.arange(samples) == best, -1, torch.arange(samples))
    return places.gather(1, rank.argsort(dim=1)).flatten()
