"""Sequences of different lengths in one row of tokens, without pads: what a layer does to each token costs no pads.

Attention alone needs rectangles. There are few of them, because lengths are rounded up to multiples of LANES, which
suits the processor. A token can stand for several equal ones: attention then counts it as often.

Letters in shapes: B sequences, T tokens of all, S tokens of the longest, W features.
"""

from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

LANES = 16  # numbers that a processor handles at once


@dataclass(frozen=True)
class Packing:
    """Sequences one after the other, each with its own number of tokens.

    `sequences` [T]: the sequence of each token. `starts` [B]: the first token of each sequence. `weights` [T]: what
    attention adds to the logits of a token. `rectangles`: their rows and columns. `padded`: the tokens in all of them.
    `mask`: the weights of these, -inf for pads. `back` [T]: where each token is among them.
    """

    lengths: Tensor
    weights: Tensor
    sequences: Tensor
    starts: Tensor
    rectangles: list[tuple[int, int]]
    padded: Tensor
    mask: Tensor
    back: Tensor

    @classmethod
    def of(cls, lengths: Tensor, counts: Tensor) -> "Packing":
        """Return the packing of sequences with `lengths` [B], whose tokens stand for `counts` [T] equal ones.

        >>> Packing.of(torch.tensor([1, 3]), torch.ones(4)).sequences
        tensor([0, 1, 1, 1])
        """
        sequences, _, starts = in_row(lengths)
        sides, order = torch.sort(-(-lengths // LANES) * LANES, stable=True)
        rectangles = [(len(list(equal)), side) for side, equal in groupby(sides.tolist())]
        rows, columns, _ = in_row(sides)
        rows = order[rows]
        present = columns < lengths[rows]
        padded, weights = torch.where(present, starts[rows] + columns, 0), counts.log()
        mask, back = torch.where(present, weights[padded], -torch.inf), torch.empty_like(sequences)
        back[padded[present]] = present.nonzero().squeeze(-1)
        return cls(lengths, weights, sequences, starts, rectangles, padded, mask, back)

    def pad(self, features: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return features [1, T, W] as rectangles [b, s, W], each with what attention adds to its logits, [b, s]."""
        sizes = [rows * side for rows, side in self.rectangles]
        rows = features[0].index_select(0, self.padded).split(sizes)
        return [
            (part.unflatten(0, shape), weights.unflatten(0, shape))
            for part, weights, shape in zip(rows, self.mask.split(sizes), self.rectangles, strict=True)
        ]

    def unpad(self, parts: list[Tensor]) -> Tensor:
        """Return rectangles [b, s, W] in one row without pads, [1, T, W]."""
        return torch.cat([part.flatten(0, 1) for part in parts]).index_select(0, self.back)[None]

    def spread(self, values: Tensor) -> Tensor:
        """Return values of sequences [B, 1, W] as values of their tokens, [1, T, W]."""
        return values[:, 0].index_select(0, self.sequences)[None]

    def around(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Return all tokens of the sequences of the tokens `at` [n], and what attention adds for them, [n, S] each."""
        sequences, places = self.sequences[at, None], torch.arange(int(self.lengths.max()))
        present = places < self.lengths[sequences]
        tokens = torch.where(present, self.starts[sequences] + places, 0)
        return tokens, torch.where(present, self.weights[tokens], -torch.inf)


def in_row(lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sequence of each token, its number there, and the first token of each sequence."""
    starts = lengths.cumsum(0) - lengths
    sequences = torch.arange(len(lengths)).repeat_interleave(lengths)
    return sequences, torch.arange(len(sequences)) - starts[sequences], starts
