"""Sequences of different lengths in one row of tokens, without pads: what a layer does to each token costs no pads.

Attention alone needs rectangles. There are few of them, because lengths are rounded up to multiples of LANES, which
suits the processor.

Letters in shapes: B sequences, T tokens of all, S tokens of the longest, W features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

LANES = 16  # numbers that a processor handles at once


@dataclass(frozen=True)
class Packing:
    """Sequences one after the other, each with its own number of tokens.

    `sequences` and `places` [T]: the sequence of each token, and its number there. `starts` [B]: the first token of
    each sequence. `padded`: the tokens of all rectangles; `present`: whether they are more than pads.
    """

    lengths: list[int]
    sequences: Tensor
    places: Tensor
    starts: Tensor
    rectangles: list[tuple[int, int]]
    padded: Tensor
    present: Tensor
    back: Tensor

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device) -> "Packing":
        """Return the packing of sequences. All is computed on the host, so nothing waits for the device.

        >>> Packing.of([1, 3], torch.device("cpu")).sequences
        tensor([0, 1, 1, 1])
        """
        count = torch.tensor(lengths)
        starts = count.cumsum(0) - count
        sequences = torch.arange(len(count)).repeat_interleave(count)
        places = torch.arange(len(sequences)) - starts[sequences]
        sides = [-(-length // LANES) * LANES for length in lengths]
        rectangles = [(len(list(equal)), side) for side, equal in groupby(sides)]
        side = torch.tensor(sides)
        row = torch.arange(len(count)).repeat_interleave(side)
        column = torch.arange(len(row)) - (side.cumsum(0) - side)[row]
        present = column < count[row]
        padded = torch.where(present, starts[row] + column, 0)
        parts = (part.to(device) for part in (sequences, places, starts, padded, present, present.nonzero()[:, 0]))
        sequences, places, starts, padded, present, back = parts
        return cls(list(lengths), sequences, places, starts, rectangles, padded, present, back)

    def pad(self, features: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return features [1, T, W] as rectangles [b, s, W], each with the tokens that are no pads, bool [b, s]."""
        sizes = [rows * side for rows, side in self.rectangles]
        rows = features[0].index_select(0, self.padded).split(sizes)
        seen = self.present.split(sizes)
        return [
            (part.unflatten(0, shape), here.unflatten(0, shape))
            for part, here, shape in zip(rows, seen, self.rectangles, strict=True)
        ]

    def unpad(self, parts: list[Tensor]) -> Tensor:
        """Return rectangles [b, s, W] in one row without pads, [1, T, W]."""
        return torch.cat([part.flatten(0, 1) for part in parts]).index_select(0, self.back)[None]

    def spread(self, values: Tensor) -> Tensor:
        """Return values of sequences [B, 1, W] as values of their tokens, [1, T, W]."""
        return values[:, 0].index_select(0, self.sequences)[None]

    def around(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens of the sequence of each token in `at` [n], and which of them there are, [n, S] each."""
        sequences = self.sequences[at]
        places = torch.arange(max(self.lengths), device=at.device)
        present = places < torch.tensor(self.lengths, device=at.device)[sequences, None]
        return torch.where(present, self.starts[sequences, None] + places, 0), present
