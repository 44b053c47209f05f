"""Convert images to values in [-1, 1], as networks take them, and back."""

import torch
from torch import Tensor


def to_unit(images: Tensor, levels: int) -> Tensor:
    """Return images [B, S, S, C] with values 0, ..., levels - 1 as networks take them: [B, C, S, S] in [-1, 1]."""
    return (images.float() * (2 / (levels - 1)) - 1).permute(0, 3, 1, 2).contiguous()


def from_unit(images: Tensor, levels: int) -> Tensor:
    """Return images [B, C, S, S] in [-1, 1] as whole values 0, ..., levels - 1, [B, S, S, C]."""
    values = ((images.float() + 1) * ((levels - 1) / 2)).round().clamp(0, levels - 1)
    return values.to(torch.uint8).permute(0, 2, 3, 1).contiguous()
