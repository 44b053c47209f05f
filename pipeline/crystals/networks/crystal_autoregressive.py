"""A transformer that predicts each token of a crystal from those before it, given the number of atoms.

Letters in shapes: B crystals, D = 6 + 4 a tokens of each, W features, K tokens of the vocabulary.
"""

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from pipeline.crystals.networks import CrystalLayout, begin_token, present_atoms
from pipeline.flow.checks import forbid
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.attention import KeyValueCache, Sight
from pipeline.networks.denoiser import Denoiser
from pipeline.networks.transformer import Blocks, Decoding, Head, TransformerOptions, sinusoidal_positions

AUTOREGRESSIVE = True  # predicts the next token instead of x1 from x_t: it has no time and needs no path

CAUSAL = Sight(causal=True)


class Options(TransformerOptions):
    """The size of the network."""

    width: int = Field(288, ge=2, multiple_of=2, description="features of each token; a multiple of heads")


class CrystalAutoregressive(Denoiser):
    """Embeddings and sinusoidal positions, causal attention blocks that know the number of atoms, and K logits."""

    ragged = True

    def __init__(self, options: Options, layout: CrystalLayout, begin: int, tokens: int, length: int) -> None:
        super().__init__()
        # The condition is as wide as a token. This gives 24.6 million parameters at the paper's size (around 25).
        width = condition_width = options.width
        self.layout, self.begin, self.length = layout, begin, length
        self.embedding = nn.Embedding(tokens, width)
        self.atoms = nn.Embedding(layout.atoms, condition_width)  # for 1, 2, ..., a atoms
        self.blocks = Blocks(options, condition_width)
        self.head = Head(width, condition_width, tokens)
        self.positions: Tensor
        self.register_buffer("positions", sinusoidal_positions(length, width), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits [B, D, K] of each token of crystals x [B, D], given those before it and the pads."""
        condition = self._condition(present_atoms(x, self.layout.pad_token))
        before = functional.pad(x[:, :-1], (1, 0), value=self.begin)
        features = self.embedding(before) + self.positions[: x.shape[1]]
        features = self.blocks(features, self.blocks.modulations(condition), CAUSAL)
        return self.head(features, self.head.modulation(condition))

    @torch.no_grad()
    def start(self, kinds: Tensor) -> Decoding:
        """Return the state before the first token of crystals whose positions have `kinds` [B, D]."""
        condition = self._condition(present_atoms(kinds, self.layout.pad_kind))
        caches = [KeyValueCache(self.length) for _ in self.blocks.blocks]
        modulations, head_modulation = self.blocks.modulations(condition), self.head.modulation(condition)
        return Decoding(len(kinds), self.length, modulations, head_modulation, caches)

    @torch.no_grad()
    def next_logits(self, tokens: Tensor | None, state: Decoding) -> Tensor:
        """Return the logits [B, K] of the tokens after `tokens` [B] (None at the beginning), and advance `state`."""
        last = state.last_tokens(tokens, self.begin, self.positions.device)
        features = (self.embedding(last) + self.positions[state.position])[:, None]  # [B, 1, W]
        features = self.blocks(features, state.modulations, CAUSAL, state.caches)
        state.position += 1
        return self.head(features, state.head_modulation)[:, 0]

    def _condition(self, present: Tensor) -> Tensor:
        atoms = present.sum(dim=1)
        empty, has = atoms == 0, "has no atoms, only pads"
        forbid(empty, f"a crystal of a batch {has}", lambda: f"crystal {int(empty.nonzero()[0])} of a batch {has}")
        return self.atoms((atoms - 1).clamp(min=0))


def build(options: Options, vocabulary: Vocabulary, length: int) -> nn.Module:
    """Return the network for crystals of `length` tokens."""
    layout = CrystalLayout.of(vocabulary, length)
    return CrystalAutoregressive(options, layout, begin_token(vocabulary), vocabulary.size, length)
