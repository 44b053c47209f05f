"""A transformer over crystals that ignores the order of their atoms: permuted atoms give permuted logits.

Each atom's four tokens become one, all atoms share one position, and attention sees the cell and the atoms but no
pads. Letters in shapes: B crystals, D = 6 + 4 a tokens of each, W features.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.crystals.networks import CrystalLayout, present_atoms
from pipeline.crystals.tokens import CELL, PER_ATOM
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.attention import Sight
from pipeline.networks.denoiser import Denoiser
from pipeline.networks.transformer import Blocks, Head, TimeEmbedding, TransformerOptions

# Features of the condition, per feature of a token. The paper gives the width, the depth, the heads and the number of
# parameters (around 25 million) but not this. 7/4 gives 25.2 million at the paper's size.
CONDITION_RATIO = 7 / 4


class Options(TransformerOptions):
    """The size of the network."""


class CrystalDit(Denoiser):
    """Embeddings, one token for each atom, attention blocks, four tokens for each atom again, and K logits for each."""

    answers_at = ragged = True

    def __init__(self, options: Options, layout: CrystalLayout, tokens: int) -> None:
        super().__init__()
        width, condition_width = options.width, round(CONDITION_RATIO * options.width)
        self.layout = layout
        self.embedding = nn.Embedding(tokens, width)
        self.join_atom = nn.Linear(PER_ATOM * width, width)
        self.positions = nn.Embedding(CELL + 1, width)  # all atoms share the last
        self.time = TimeEmbedding(condition_width)
        self.blocks = Blocks(options, condition_width)
        self.split_atom = nn.Linear(width, PER_ATOM * width)  # four layers of W to W, in one product
        self.head = Head(width, condition_width, tokens)
        self.places: Tensor
        self.register_buffer("places", torch.arange(CELL + layout.atoms).clamp(max=CELL), persistent=False)

    def forward(self, x: Tensor, t: Tensor, at: Tensor | None = None) -> Tensor:
        """Return the logits of p(x1 | x_t), [B, D, K], or [n, K] for the tokens `at`; those of pads mean nothing."""
        present = present_atoms(x, self.layout.pad_token)  # [B, a]
        seen = functional.pad(present, (CELL, 0), value=True)  # [B, 6 + a]
        embedded = self.embedding(x)  # [B, D, W]
        cell, atoms = embedded[:, :CELL], embedded[:, CELL:]
        joined = functional.silu(self.join_atom(atoms.reshape(*present.shape, -1)))  # [B, a, W]
        features = torch.cat([cell, joined], dim=1)  # [B, 6 + a, W]
        features = features + self.positions(self.places[: features.shape[1]])

        condition = self.time(t)
        features = self.blocks(features, self.blocks.modulations(condition), Sight(seen))

        cell, atoms = features[:, :CELL], features[:, CELL:]
        split = self.split_atom(atoms).view(len(x), x.shape[1] - CELL, -1)  # [B, 4 a, W]
        return self.head(torch.cat([cell, split], dim=1), self.head.modulation(condition), at)


def build(options: Options, vocabulary: Vocabulary, length: int) -> nn.Module:
    """Return the network for crystals of `length` tokens."""
    return CrystalDit(options, CrystalLayout.of(vocabulary, length), vocabulary.size)
