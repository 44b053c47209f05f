"""How varied tokens are, which a judge of single texts does not see.

A text that says one thing over and over hardly surprises a language model. So a low perplexity means something only
beside numbers that fall when samples repeat themselves or each other.
"""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


def token_entropy(tokens: Tensor) -> float:
    """Return the mean over samples [N, D] of the entropy, in nats, of a sample's own histogram of tokens.

    H = log D - (1 / D) sum_k n_k log n_k, where token k occurs n_k times in a sample of D; at most log D.
    """
    count, length = tokens.shape
    rows = _numbers(tokens)
    sample_and_token = rows + np.arange(count)[:, None] * (rows.max() + 1)
    times = np.unique(sample_and_token, return_counts=True)[1].astype(np.float64)
    return float(np.log(length) - (times * np.log(times)).sum() / (count * length))


def distinct(tokens: Tensor, size: int) -> float:
    """Return the share of distinct ones among all sequences of `size` tokens within samples [N, D]; D >= `size`."""
    rows = _numbers(tokens)
    places = rows.shape[1] - size + 1
    grams = rows[:, :places]
    for offset in range(1, size):
        # Renumber for each token, so that no number grows beyond 64 bits.
        known = np.unique(grams, return_inverse=True)[1].reshape(grams.shape)
        grams = known * (rows.max() + 1) + rows[:, offset : offset + places]
    return len(np.unique(grams)) / grams.size


def _numbers(tokens: Tensor) -> NDArray[np.int64]:
    return tokens.cpu().numpy().astype(np.int64)
