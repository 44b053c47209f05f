"""A network: a table of logits for each token, for any tokens. Copy to pipeline/known/networks/table.py, and change it.

In the configuration: `model: {name: table, width: 32}`.
"""

import torch
from pydantic import Field
from torch import Tensor, nn

from pipeline.config import Strict
from pipeline.flow.vocabulary import Vocabulary


class Options(Strict):
    """The size of the network."""

    width: int = Field(32, ge=1, description="features of a token")


class Table(nn.Module):
    """Features of each token and of the time, and K logits for every position."""

    def __init__(self, options: Options, tokens: int, length: int) -> None:
        super().__init__()
        self.features = nn.Embedding(tokens, options.width)
        self.time = nn.Linear(1, options.width)
        self.head = nn.Linear(options.width, tokens)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Return the logits of p(x1 | x_t), [B, D, K], for tokens x [B, D] and times t [B]."""
        logits: Tensor = self.head(torch.tanh(self.features(x) + self.time(t[:, None, None])))
        return logits


def build(options: Options, vocabulary: Vocabulary, length: int) -> nn.Module:
    """Return the network for sequences of `length` tokens."""
    return Table(options, vocabulary.size, length)
