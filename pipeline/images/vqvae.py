"""The VQVAE: an encoder from images to vectors, codes for the vectors, and a decoder to images, as in VQGAN.

Letters in shapes: B images of C channels and side S, h = w = S / down rows and columns of codes, F features of a code.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from pipeline.config import TokenizerNetwork
from pipeline.errors import KinoflowError
from pipeline.images.quantiser import Quantiser
from pipeline.images.vqvae_blocks import Double, Halve, Head, ResidualBlock, flat, middle, unflat


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
