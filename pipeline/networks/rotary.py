"""Rotary positions: queries and keys are rotated by angles that grow with the position.

Their dot products then depend on how far apart two tokens are, not on where they are. Letters in shapes: S tokens, F
features of a head. Two neighbouring features are one complex number, and each number rotates at its own frequency.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipeline.errors import KinoflowError

BASE = 10_000  # the frequencies are 1, ..., almost 1 / BASE radians per token


@dataclass(frozen=True)
class Rotation:
    """The factors exp(i angle) that rotate the features at some positions, complex [S, F / 2]."""

    factors: Tensor

    def apply(self, features: Tensor) -> Tensor:
        """Return the rotated features [..., S, F] (queries or keys), in their own type."""
        pairs = features.to(self.factors.real.dtype).unflatten(-1, (-1, 2))
        turned = torch.view_as_complex(pairs) * self.factors  # one pass over memory; cosines and sines take five
        return torch.view_as_real(turned).flatten(-2).to(features.dtype)


def angles_of(positions: Tensor, features: int) -> Tensor:
    """Return the angles at positions [S] for heads of an even number of features, float64[S, F / 2]."""
    exponents = torch.arange(0, features, 2, dtype=torch.float64, device=positions.device) / features
    return positions[:, None] * BASE**-exponents


class RotaryTable(nn.Module):
    """The rotations by angles [S, F / 2]; the first `prefix` belong to tokens before the sequence itself.

    There are no parameters, and nothing to save.
    """

    def __init__(self, angles: Tensor, prefix: int = 0) -> None:
        super().__init__()
        self.length, self.prefix = len(angles), prefix
        self.cosines: Tensor  # apart from the sines: converting a module to another type would drop imaginary parts
        self.sines: Tensor
        self.register_buffer("cosines", angles.cos().float(), persistent=False)
        self.register_buffer("sines", angles.sin().float(), persistent=False)

    def forward(self, tokens: int, before: int = 0) -> Rotation:
        """Return the rotation for so many tokens, after `before` others."""
        self.check(before + tokens - self.prefix)
        there = slice(before, before + tokens)
        return Rotation(torch.complex(self.cosines[there], self.sines[there]))

    def check(self, length: int) -> None:
        """Raise if sequences of `length` tokens, not counting the prefix, are too long."""
        longest = self.length - self.prefix
        if length > longest:
            raise KinoflowError(
                f"length: the model is made for sequences of at most {longest} tokens, got {length}; "
                "give shorter ones, or train it on data of that length"
            )


class Rotary(RotaryTable):
    """The rotations of the positions 0, ..., length - 1."""

    def __init__(self, length: int, features: int) -> None:
        super().__init__(angles_of(torch.arange(length), features))


class GridRotary(RotaryTable):
    """The rotations of a grid's cells, row by row: half of a head's features rotate with the row, half with the column.

    The tokens of the prefix have no cell and are not rotated; F is a multiple of 4.
    """

    def __init__(self, rows: int, columns: int, features: int, prefix: int = 0) -> None:
        row, column = torch.arange(rows).repeat_interleave(columns), torch.arange(columns).repeat(rows)
        places = torch.cat([angles_of(row, features // 2), angles_of(column, features // 2)], dim=-1)
        super().__init__(torch.cat([places.new_zeros(prefix, features // 2), places]), prefix)
