"""The VQVAE: an encoder from images to vectors, codes for the vectors, and a decoder to images, as in VQGAN.

Letters in shapes: B images of C channels and side S, h = w = S / down rows and columns of codes, F features of a code.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import TokenizerNetwork
from pipeline.errors import KinoflowError
from pipeline.images.quantiser import Quantiser
from pipeline.networks.attention import Attention

_GROUPS, _LEAST = 32, 4  # most groups of features that are normalised together, and least features per group


def to_unit(images: Tensor, levels: int) -> Tensor:
    """Return images [B, S, S, C] with values 0, ..., levels - 1 as networks take them: [B, C, S, S] in [-1, 1]."""
    return (images.float() * (2 / (levels - 1)) - 1).permute(0, 3, 1, 2).contiguous()


def from_unit(images: Tensor, levels: int) -> Tensor:
    """Return images [B, C, S, S] in [-1, 1] as whole values 0, ..., levels - 1, [B, S, S, C]."""
    values = ((images.float() + 1) * ((levels - 1) / 2)).round().clamp(0, levels - 1)
    return values.to(torch.uint8).permute(0, 2, 3, 1).contiguous()


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


@dataclass(frozen=True)
class Reconstruction:
    """Images [B, C, S, S] from their codes int64[B, h, w], and the loss of quantisation."""

    images: Tensor
    codes: Tensor
    loss: Tensor


class VQVAE(nn.Module):
    """Turns images with values in [-1, 1] into codes and back; it is trained on `at_once` codes per step."""

    def __init__(
        self, network: TokenizerNetwork, codes: int, channels: int, commitment: float = 0.0, at_once: int = 0
    ) -> None:
        super().__init__()
        self.down = network.down
        self.encoder = nn.Sequential(*_encoder(network, channels), nn.Conv2d(network.latent, network.code_features, 1))
        self.quantiser = Quantiser(codes, network.code_features, commitment, at_once)
        self.decoder = nn.Sequential(nn.Conv2d(network.code_features, network.latent, 1), *_decoder(network, channels))

    def forward(self, images: Tensor) -> Reconstruction:
        """Return images [B, C, S, S] after encoding and decoding them."""
        features = self.encoder(images)
        batch, _, height, width = features.shape
        quantised = self.quantiser(flat(features))
        return Reconstruction(
            self.decoder(unflat(quantised.vectors, batch, height, width)),
            quantised.codes.view(batch, height, width),
            quantised.loss,
        )

    @torch.no_grad()
    def encode(self, images: Tensor, live: Tensor | None = None) -> Tensor:
        """Return the codes int64[B, h, w] of images [B, C, S, S], with `live` codes only, bool[K]."""
        features = self.encoder(images)
        batch, _, height, width = features.shape
        return self.quantiser.nearest(flat(features), live).view(batch, height, width)

    @torch.no_grad()
    def decode(self, codes: Tensor) -> Tensor:
        """Return the images [B, C, S, S] of codes int64[B, h, w]."""
        images: Tensor = self.decoder(unflat(self.quantiser.codebook[codes.flatten()], *codes.shape))
        return images


def check_side(side: int, network: TokenizerNetwork) -> None:
    """Raise unless images of this side can be halved as often as the network does."""
    if side % network.down:
        levels = f"the {len(network.multipliers)} levels of tokenizer.network.multipliers"
        raise KinoflowError(
            f"images of {side} x {side} pixels: {levels} make one code of {network.down} x {network.down} pixels, "
            "but the image does not divide into these; give another number of levels, or images of another size"
        )


def _encoder(network: TokenizerNetwork, channels: int) -> list[nn.Module]:
    widths = [network.channels * multiplier for multiplier in network.multipliers]
    parts: list[nn.Module] = [nn.Conv2d(channels, widths[0], 3, padding=1)]
    for level, (width, new_width) in enumerate(pairwise([widths[0], *widths])):
        parts += [Halve(width)] if level else []
        parts += _level(width, new_width, network.blocks, network.dropout)
    return [*parts, middle(widths[-1], network.attention, network.dropout), Head(widths[-1], network.latent)]


def _decoder(network: TokenizerNetwork, channels: int) -> list[nn.Module]:
    widths = [network.channels * multiplier for multiplier in reversed(network.multipliers)]
    parts: list[nn.Module] = [nn.Conv2d(network.latent, widths[0], 3, padding=1)]
    parts.append(middle(widths[0], network.attention, network.dropout))
    for level, (width, new_width) in enumerate(pairwise([widths[0], *widths])):
        parts += [Double(width)] if level else []
        parts += _level(width, new_width, network.blocks + 1, network.dropout)
    return [*parts, Head(widths[-1], channels)]


def _level(width: int, new_width: int, blocks: int, dropout: float) -> list[nn.Module]:
    widths = [width] + [new_width] * blocks
    return [ResidualBlock(before, after, dropout) for before, after in pairwise(widths)]
