"""The parts of a U-Net: residual blocks with a condition, attention among pixels, and changes of size.

Letters in shapes: B images, H rows, V columns, W features (width) of each pixel, E features of the condition.
"""

import math

from torch import Tensor, nn
from torch.nn import functional

from pipeline.networks.attention import Attention
from pipeline.networks.transformer import Modulation

GROUPS = 32  # most groups of features that are normalised together


def group_norm(width: int) -> nn.GroupNorm:
    """Return the norm of W features in 32 groups, or in as many as divide both 32 and W."""
    return nn.GroupNorm(math.gcd(GROUPS, width), width)


def zeroed(layer: nn.Conv2d | nn.Linear) -> None:
    """Set the weights of a layer to zero, so that it adds nothing before training."""
    nn.init.zeros_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


class ResidualBlock(nn.Module):
    """Two convolutions added to the input; the norm between them is scaled and shifted by the condition, if any."""

    def __init__(self, width_in: int, width: int, condition_width: int | None, dropout: float) -> None:
        super().__init__()
        self.first_norm = group_norm(width_in)
        self.first = nn.Conv2d(width_in, width, 3, padding=1)
        self.modulation = None if condition_width is None else Modulation(condition_width, width, sets=2)
        self.second_norm = group_norm(width)
        self.dropout = nn.Dropout(dropout)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.shortcut = nn.Identity() if width_in == width else nn.Conv2d(width_in, width, 1)
        zeroed(self.second)

    def forward(self, features: Tensor, condition: Tensor | None = None) -> Tensor:
        """Return the features [B, W, H, V] after the block, under a condition [B, E]."""
        hidden = self.second_norm(self.first(functional.silu(self.first_norm(features))))
        if self.modulation is not None:
            scale, shift = (values.transpose(1, 2)[..., None] for values in self.modulation(condition))  # [B, W, 1, 1]
            hidden = hidden * (1 + scale) + shift
        added: Tensor = self.shortcut(features) + self.second(self.dropout(functional.silu(hidden)))
        return added


class PixelAttention(nn.Module):
    """Attention among all pixels, added to the input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm = group_norm(width)
        self.attention = Attention(width, heads)
        zeroed(self.attention.combine)

    def forward(self, features: Tensor) -> Tensor:
        """Return the features [B, W, H, V] after the block."""
        pixels = self.norm(features).flatten(2).transpose(1, 2)  # [B, H V, W]
        gathered: Tensor = self.attention(pixels)
        return features + gathered.transpose(1, 2).reshape(features.shape)


class Stage(nn.Module):
    """A residual block, followed by attention if there are `heads`."""

    def __init__(
        self, width_in: int, width: int, condition_width: int | None, dropout: float, heads: int | None
    ) -> None:
        super().__init__()
        self.residual = ResidualBlock(width_in, width, condition_width, dropout)
        self.attention = nn.Identity() if heads is None else PixelAttention(width, heads)

    def forward(self, features: Tensor, condition: Tensor | None = None) -> Tensor:
        """Return the features [B, W, H, V] after both."""
        computed: Tensor = self.attention(self.residual(features, condition))
        return computed


def halved(features: Tensor) -> Tensor:
    """Return features [B, W, H, V] averaged over squares of four pixels, [B, W, H / 2, V / 2]."""
    return functional.avg_pool2d(features, 2)


def doubled(features: Tensor) -> Tensor:
    """Return features [B, W, H, V] with each pixel repeated in a square of four, [B, W, 2 H, 2 V]."""
    return functional.interpolate(features, scale_factor=2, mode="nearest")
