"""The kind of token at each position of a sample, taken from a training sequence."""

import torch
from torch import Tensor

from pipeline.tokens.token_data import TokenData


def draw_layouts(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return the kinds of the positions of random training sequences, including their pads, [N, D]."""
    if data.vocabulary.kinds == 1:
        return torch.zeros(count, data.length, dtype=torch.int64)
    rows = torch.randint(len(data.train), (count,), generator=generator)
    return data.vocabulary.kinds_of(data.train[rows].long())
