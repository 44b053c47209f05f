"""The parts of the VQVAE's encoder and decoder.

Letters in shapes: B images, F features, H rows and W columns of places.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.networks.attention import Attention

_GROUPS, _LEAST = 32, 4  # most groups of features that are normalised together, and least features per group


def group_norm(features: int) -> nn.GroupNorm:
    """Return the normalisation of features in groups."""
    return nn.GroupNorm(math.gcd(_GROUPS, max(1, features // _LEAST)), features)


class ResidualBlock(nn.Module):
    """Two convolutions, added to the input, [B, F, H, W] -> [B, F', H, W]."""

    def __init__(self, features: int, new_features: int, dropout: float) -> None:
        super().__init__()
        self.norm_in, self.norm_out = group_norm(features), group_norm(new_features)
        self.conv_in = nn.Conv2d(features, new_features, 3, padding=1)
        self.conv_out = nn.Conv2d(new_features, new_features, 3, padding=1)
        self.dropout = nn.Dropout(dropout)
        self.shortcut = nn.Conv2d(features, new_features, 1) if features != new_features else nn.Identity()

    def forward(self, features: Tensor) -> Tensor:
        """Return the features after the block."""
        hidden = self.conv_in(functional.silu(self.norm_in(features)))
        hidden = self.conv_out(self.dropout(functional.silu(self.norm_out(hidden))))
        result: Tensor = self.shortcut(features) + hidden
        return result


class PlaceAttention(nn.Module):
    """Attention with one head among all places of an image, added to the input."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = group_norm(features)
        self.attention = Attention(features, heads=1)

    def forward(self, features: Tensor) -> Tensor:
        """Return the features [B, F, H, W] after the block."""
        places = self.norm(features).flatten(2).transpose(1, 2)  # [B, H W, F]
        return features + self.attention(places).transpose(1, 2).reshape(features.shape)


class Halve(nn.Module):
    """A convolution that halves the sides, [B, F, H, W] -> [B, F, H / 2, W / 2]."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(features, features, 3, stride=2)

    def forward(self, features: Tensor) -> Tensor:
        """Return the smaller features; at stride 2, padding on the right and the bottom is enough."""
        result: Tensor = self.conv(functional.pad(features, (0, 1, 0, 1)))
        return result


class Double(nn.Module):
    """Repeats places, then convolves, [B, F, H, W] -> [B, F, 2 H, 2 W]."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(features, features, 3, padding=1)

    def forward(self, features: Tensor) -> Tensor:
        """Return the larger features."""
        result: Tensor = self.conv(functional.interpolate(features, scale_factor=2.0, mode="nearest"))
        return result


def middle(features: int, attention: bool, dropout: float) -> nn.Sequential:
    """Return the blocks at the lowest resolution, where places may attend to each other."""
    first, last = (ResidualBlock(features, features, dropout) for _ in range(2))
    return nn.Sequential(first, *([PlaceAttention(features)] if attention else []), last)


class Head(nn.Sequential):
    """Normalisation, then a convolution to the new number of features."""

    def __init__(self, features: int, new_features: int) -> None:
        super().__init__(group_norm(features), nn.SiLU(), nn.Conv2d(features, new_features, 3, padding=1))


def flat(features: Tensor) -> Tensor:
    """Return features [B, F, H, W] as rows of places [B H W, F]."""
    return features.permute(0, 2, 3, 1).flatten(0, 2)


def unflat(rows: Tensor, batch: int, height: int, width: int) -> Tensor:
    """Return rows of places [B H W, F] as features [B, F, H, W]."""
    return torch.unflatten(rows, 0, (batch, height, width)).permute(0, 3, 1, 2)
