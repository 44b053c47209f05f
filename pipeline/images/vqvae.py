"""The VQVAE: an encoder from images to vectors, codes for the vectors, and a decoder to images, as in VQGAN.

Each vector is replaced by the nearest of K codes, all of length one. A code is a moving average of the vectors assigned
to it (`vector-quantize-pytorch`). Codes are initialised from the first batch. A code with hardly any vectors is dead,
and moves to a random vector of the batch. These draws come from the global generator, as for dropout; training reseeds
it at each step.
Letters in shapes: B images of C channels and side S, H rows and W columns of places (of codes: S / down), F features, N
vectors, K codes.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional
from vector_quantize_pytorch import VectorQuantize  # type: ignore[import-untyped]

from pipeline.config import TokenizerNetwork
from pipeline.errors import KinoflowError
from pipeline.flow.chunks import row_chunks
from pipeline.networks.attention import Attention

MEMORY = 0.95  # decay of the moving averages
DEAD = 0.03  # a code is dead if it gets less than this share of the vectors it would get if all were used equally
_GROUPS, _LEAST = 32, 4  # most groups of features that are normalised together, and least features per group


class Quantiser(nn.Module):
    """K codes of F features, trained on `at_once` vectors per step, over all processes.

    Create it after the processes have joined: it then keeps the codes the same in all of them.
    """

    def __init__(self, codes: int, features: int, commitment: float = 0.0, at_once: int = 0) -> None:
        super().__init__()
        self.quantise = VectorQuantize(
            dim=features,
            codebook_size=codes,
            use_cosine_sim=True,
            rotation_trick=True,  # C. Fifty et al., 2024: rotate gradients with the features, do not copy them
            decay=MEMORY,
            kmeans_init=True,
            threshold_ema_dead_code=DEAD * at_once / codes,
            commitment_weight=commitment,
            sync_codebook=processes() > 1,
        )

    @property
    def codebook(self) -> Tensor:
        """The codes, of length one, [K, F]."""
        return self.quantise.codebook

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the codes int64[N] of vectors [N, F], their vectors [N, F], and the loss that pulls vectors to codes.

        Gradients pass from the returned vectors to the given ones.
        """
        with torch.autocast(vectors.device.type, enabled=False):
            chosen, codes, loss = self.quantise(functional.normalize(vectors.float(), dim=-1)[None])
        return codes[0], chosen[0], loss.sum()

    @torch.no_grad()
    def nearest(self, vectors: Tensor, live: Tensor | None = None) -> Tensor:
        """Return the nearest codes int64[N] of vectors [N, F] among the `live` ones, bool[K]; None: all are live."""
        vectors = functional.normalize(vectors.float(), dim=-1)
        codes = torch.empty(len(vectors), dtype=torch.int64, device=vectors.device)
        for part in row_chunks(len(vectors), len(self.codebook)):
            likeness = vectors[part] @ self.codebook.T
            codes[part] = (likeness if live is None else likeness.masked_fill(~live, -torch.inf)).argmax(-1)
        return codes


def processes() -> int:
    """Return how many processes train together."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


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
        hidden = self.conv_in(functional.silu(self.norm_in(features)))
        hidden = self.conv_out(self.dropout(functional.silu(self.norm_out(hidden))))
        return self.shortcut(features) + hidden


class PlaceAttention(nn.Module):
    """Attention with one head among all places of an image, added to the input."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = group_norm(features)
        self.attention = Attention(features, heads=1)

    def forward(self, features: Tensor) -> Tensor:
        places = self.norm(features).flatten(2).transpose(1, 2)  # [B, H W, F]
        return features + self.attention(places).transpose(1, 2).reshape(features.shape)


def halve(features: int) -> nn.Sequential:
    """Return a convolution that halves the sides; at stride 2, padding on the right and the bottom is enough."""
    convolution = nn.Conv2d(features, features, 3, stride=2)
    return nn.Sequential(OrderedDict(pad=nn.ZeroPad2d((0, 1, 0, 1)), conv=convolution))


def double(features: int) -> nn.Sequential:
    """Return what doubles the sides: places are repeated, then convolved."""
    convolution = nn.Conv2d(features, features, 3, padding=1)
    return nn.Sequential(OrderedDict(repeat=nn.Upsample(scale_factor=2.0, mode="nearest"), conv=convolution))


def middle(features: int, attention: bool, dropout: float) -> nn.Sequential:
    """Return the blocks at the lowest resolution, where places may attend to each other."""
    first, last = (ResidualBlock(features, features, dropout) for _ in range(2))
    return nn.Sequential(first, *([PlaceAttention(features)] if attention else []), last)


def head(features: int, new_features: int) -> nn.Sequential:
    """Return a normalisation, then a convolution to the new number of features."""
    return nn.Sequential(group_norm(features), nn.SiLU(), nn.Conv2d(features, new_features, 3, padding=1))


def flat(features: Tensor) -> Tensor:
    """Return features [B, F, H, W] as rows of places [B H W, F]."""
    return features.permute(0, 2, 3, 1).flatten(0, 2)


def unflat(rows: Tensor, batch: int, height: int, width: int) -> Tensor:
    """Return rows of places [B H W, F] as features [B, F, H, W]."""
    return torch.unflatten(rows, 0, (batch, height, width)).permute(0, 3, 1, 2)


@dataclass(frozen=True)
class Reconstruction:
    """Images [B, C, S, S] from their codes int64[B, H, W], and the loss of quantisation."""

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
        codes, vectors, loss = self.quantiser(flat(features))
        images = self.decoder(unflat(vectors, batch, height, width))
        return Reconstruction(images, codes.view(batch, height, width), loss)

    @torch.no_grad()
    def encode(self, images: Tensor, live: Tensor | None = None) -> Tensor:
        """Return the codes int64[B, H, W] of images [B, C, S, S], with `live` codes only, bool[K]."""
        features = self.encoder(images)
        batch, _, height, width = features.shape
        return self.quantiser.nearest(flat(features), live).view(batch, height, width)

    @torch.no_grad()
    def decode(self, codes: Tensor) -> Tensor:
        """Return the images [B, C, S, S] of codes int64[B, H, W]."""
        return self.decoder(unflat(self.quantiser.codebook[codes.flatten()], *codes.shape))


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
        parts += [halve(width)] if level else []
        parts += _level(width, new_width, network.blocks, network.dropout)
    return [*parts, middle(widths[-1], network.attention, network.dropout), head(widths[-1], network.latent)]


def _decoder(network: TokenizerNetwork, channels: int) -> list[nn.Module]:
    widths = [network.channels * multiplier for multiplier in reversed(network.multipliers)]
    parts: list[nn.Module] = [nn.Conv2d(network.latent, widths[0], 3, padding=1)]
    parts.append(middle(widths[0], network.attention, network.dropout))
    for level, (width, new_width) in enumerate(pairwise([widths[0], *widths])):
        parts += [double(width)] if level else []
        parts += _level(width, new_width, network.blocks + 1, network.dropout)
    return [*parts, head(widths[-1], channels)]


def _level(width: int, new_width: int, blocks: int, dropout: float) -> list[nn.Module]:
    widths = [width] + [new_width] * blocks
    return [ResidualBlock(before, after, dropout) for before, after in pairwise(widths)]
