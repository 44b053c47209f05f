"""A Llama that predicts each token of an image from those before it, row by row, and from the class."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.images.networks.image_condition import Grid, builder, new_class_embedding
from pipeline.images.networks.llama import Llama, LlamaOptions
from pipeline.networks.attention import KeyValueCache
from pipeline.networks.transformer import Decoding

AUTOREGRESSIVE = True  # predicts the next token instead of x1 from x_t: it has no time and needs no path


class Options(LlamaOptions):
    """The size of the network."""


@dataclass(kw_only=True)
class ImageDecoding(Decoding):
    """Images that are being decoded; they begin with the embeddings of their classes [B, W]."""

    begin: Tensor


class ImageAutoregressive(Llama):
    """Causal attention among [class, tokens], and K logits of the token after each.

    An unconditional network begins with the embedding of no class.
    """

    def __init__(self, options: Options, tokens: int, grid: Grid, classes: int) -> None:
        super().__init__(options, tokens, grid, prefix=1)
        self.classes = new_class_embedding(options.conditional, classes, options.width)
        self.initialise()

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return the logits [B, D, K] of each token of x [B, D], given those before it and the class."""
        self.rotary.check(x.shape[1])
        begin = self.classes(labels, len(x))
        features = torch.cat([begin[:, None], self.embedding(x[:, :-1])], dim=1)
        return self.logits(self.attend(features, causal=True))

    @torch.no_grad()
    def start(self, kinds: Tensor, labels: Tensor | None = None) -> ImageDecoding:
        """Return the state before the first token of images whose positions have `kinds` [B, D]."""
        batch, length = kinds.shape
        self.rotary.check(length)  # fail now if the sequence is too long, not after many tokens
        caches = [KeyValueCache(length) for _ in self.blocks]
        return ImageDecoding(batch, length, [], torch.empty(0), caches, begin=self.classes(labels, batch))

    @torch.no_grad()
    def next_logits(self, tokens: Tensor | None, state: ImageDecoding) -> Tensor:
        """Return the logits of the next tokens [B, K] after `tokens` [B] (None at the beginning); `state` moves on."""
        last = state.last_tokens(tokens, 0, state.begin.device)
        features = state.begin if tokens is None else self.embedding(last)
        logits = self.logits(self.attend(features[:, None], True, state.position, state.caches))
        state.position += 1
        return logits[:, 0]


build = builder(ImageAutoregressive)
