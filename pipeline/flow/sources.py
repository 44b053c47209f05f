"""Source distributions p: one row per kind of position, each over all K tokens, zero outside the kind."""

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.vocabulary import Vocabulary


def mask(vocabulary: Vocabulary) -> Tensor:
    """Return all mass on the mask token, whatever the kind, float64[kinds, K].

    A kind with a single token, such as a pad, needs no generation and is its own source.
    """
    source = torch.zeros(vocabulary.kinds, vocabulary.size, dtype=torch.float64)
    source[:, vocabulary.mask] = 1
    targets = vocabulary.targets(torch.arange(vocabulary.kinds)).double()
    return torch.where(targets.sum(-1, keepdim=True) == 1, targets, source)


def uniform(vocabulary: Vocabulary) -> Tensor:
    """Return the uniform distribution over the tokens of each kind, float64[kinds, K]."""
    targets = vocabulary.targets(torch.arange(vocabulary.kinds)).double()
    return targets / targets.sum(-1, keepdim=True)


def token_statistics(vocabulary: Vocabulary, counts: Tensor, beta_0: float, smoothing: float = 1.0) -> Tensor:
    """Return softmax(-beta_0 log p_stats) over the tokens of each kind, float64[kinds, K].

    beta_0 = -1 gives the statistics back, 0 the uniform distribution, large values the rarest tokens. `smoothing` is
    added to every count, so that tokens that never occur have a finite logarithm.
    """
    if counts.shape != (vocabulary.size,) or bool((counts < 0).any()):
        raise FlowError(
            f"counts: one count of at least 0 for each of {vocabulary.size} tokens, got {tuple(counts.shape)}"
        )
    if not smoothing > 0:
        raise FlowError(f"smoothing: must be above 0, or unseen tokens have no logarithm, got {smoothing}")
    targets = vocabulary.targets(torch.arange(vocabulary.kinds))
    logits = -beta_0 * torch.log(counts.double() + smoothing)
    return torch.softmax(torch.where(targets, logits, -torch.inf), dim=-1)
