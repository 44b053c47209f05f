"""A residual perceptron over whole sequences, for sequences of a few tokens."""

import torch
from pydantic import Field
from torch import Tensor, nn

from pipeline.config import Strict
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.linear import Linear
from pipeline.networks.time_features import time_features

TIME_FEATURES = 32


class Options(Strict):
    """The size of the network."""

    width: int = Field(256, ge=1, description="features in each layer")
    depth: int = Field(3, ge=1, le=1000, description="residual blocks")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of features dropped in training")


class Mlp(nn.Module):
    """Token embeddings and time features, residual blocks, and K logits for every position."""

    def __init__(self, options: Options, tokens: int, length: int) -> None:
        super().__init__()
        self.tokens, self.length = tokens, length
        self.embedding = nn.Embedding(tokens * length, options.width)  # a table for each position
        self.time = Linear(TIME_FEATURES, options.width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(options.width),
                Linear(options.width, options.width),
                nn.SiLU(),
                nn.Dropout(options.dropout),
                Linear(options.width, options.width),
            )
            for _ in range(options.depth)
        )
        self.norm = nn.LayerNorm(options.width)
        self.head = Linear(options.width, length * tokens)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Return the logits of p(x1 | x_t), [B, D, K]."""
        places = torch.arange(self.length, device=x.device) * self.tokens
        features = self.embedding(x + places).sum(dim=1) + self.time(time_features(t, TIME_FEATURES))
        for block in self.blocks:
            features = features + block(features)
        logits: Tensor = self.head(self.norm(features))
        return logits.view(len(x), self.length, self.tokens)


def build(options: Options, vocabulary: Vocabulary, length: int) -> nn.Module:
    """Return the network for sequences of `length` tokens."""
    return Mlp(options, vocabulary.size, length)
