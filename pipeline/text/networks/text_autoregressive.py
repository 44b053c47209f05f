"""A transformer that predicts each token of a text from those before it."""

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.attention import KeyValueCache
from pipeline.networks.transformer import Decoding
from pipeline.text.networks.text_transformer import EMBEDDING_DEVIATION, TextOptions, TextTransformer

AUTOREGRESSIVE = True  # predicts the next token instead of x1 from x_t: it has no time and needs no path

# The largest logit of the previous token in a tied head before training. Text seldom repeats a token, so with a larger
# logit the first losses would be far above log K.
REPEATED_LOGIT = 4


class Options(TextOptions):
    """The size of the network."""

    # Blocks without a condition are smaller than those of text_dit. At the paper's size, 16 of them have 152 million
    # parameters, about as many as 12 blocks of text_dit (150 million).
    depth: int = Field(16, ge=1, le=1000, description="attention blocks")


class TextAutoregressive(TextTransformer):
    """Embeddings, causal attention blocks without a condition, and K logits."""

    def __init__(self, options: Options, begin: int, tokens: int, length: int) -> None:
        deviation = min(EMBEDDING_DEVIATION, REPEATED_LOGIT / options.width)
        super().__init__(options, None, tokens, length, deviation)
        self.begin = begin

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits [B, D, K] of each token of x [B, D], given those before it."""
        before = functional.pad(x[:, :-1], (1, 0), value=self.begin)
        return self.logits(before, self.blocks.modulations(), self.head.modulation(), causal=True)

    @torch.no_grad()
    def start(self, kinds: Tensor) -> Decoding:
        """Return the state before the first token of sequences whose positions have `kinds` [B, D]."""
        batch, length = kinds.shape
        self.rotary(length)  # raise now if the sequence is too long, not after many tokens
        caches = [KeyValueCache(length) for _ in self.blocks.blocks]
        return Decoding(batch, length, self.blocks.modulations(), self.head.modulation(), caches)

    @torch.no_grad()
    def next_logits(self, tokens: Tensor | None, state: Decoding) -> Tensor:
        """Return the logits [B, K] of the tokens after `tokens` [B] (None at the beginning), and advance `state`."""
        last = state.last_tokens(tokens, self.begin, self.embedding.weight.device)[:, None]
        logits = self.logits(last, state.modulations, state.head_modulation, True, state.position, state.caches)
        state.position += 1
        return logits[:, 0]


def build(options: Options, vocabulary: Vocabulary, length: int) -> nn.Module:
    """Return the network for sequences of at most `length` tokens; they begin with the mask, which no text holds."""
    return TextAutoregressive(options, vocabulary.mask, vocabulary.size, length)
