"""Source distributions p: one row per kind of position, each over all K tokens, zero outside the kind."""

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.vocabulary import Vocabulary


def mask(vocabulary: Vocabulary) -> Tensor:
    """Return all mass on the mask token, for every kind, float64[kinds, K].

    A kind with a single token, such as a pad, is its own source: there is nothing to generate.

    >>> mask(Vocabulary.single(3, specials=1))
    tensor([[0., 0., 0., 1.]], dtype=torch.float64)
    """
    source = torch.zeros(vocabulary.kinds, vocabulary.size, dtype=torch.float64)
    source[:, vocabulary.mask] = 1
    targets = vocabulary.targets(torch.arange(vocabulary.kinds)).double()
    return torch.where(targets.sum(-1, keepdim=True) == 1, targets, source)


def uniform(vocabulary: Vocabulary) -> Tensor:
    """Return the uniform distribution over the tokens of each kind, float64[kinds, K].

    >>> uniform(Vocabulary([0, 0, 1, 1, -1]))
    tensor([[0.5000, 0.5000, 0.0000, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.5000, 0.5000, 0.0000]], dtype=torch.float64)
    """
    targets = vocabulary.targets(torch.arange(vocabulary.kinds)).double()
    return targets / targets.sum(-1, keepdim=True)


def token_statistics(vocabulary: Vocabulary, counts: Tensor, beta_0: float, smoothing: float = 1.0) -> Tensor:
    """Return softmax(-beta_0 log p_stats) over the tokens of each kind, float64[kinds, K].

    beta_0 = -1 gives the statistics themselves, 0 the uniform distribution, and large values the rarest tokens.
    `smoothing` is added to every count, so the logarithm is finite for tokens that never occur.

    >>> token_statistics(Vocabulary.single(3), torch.tensor([96, 1, 0]), beta_0=-1.0)
    tensor([[0.9700, 0.0200, 0.0100]], dtype=torch.float64)
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
