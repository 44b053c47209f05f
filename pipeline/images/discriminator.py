"""The discriminator: tells patches of images from patches of reconstructions (P. Isola et al., 2017)."""

from itertools import pairwise

from torch import Tensor, nn

from pipeline.config import TokenizerLoss
from pipeline.errors import KinoflowError
from pipeline.images.vqvae_blocks import group_norm

_MOST = 8  # most features, as a multiple of those of the first layer
_SLOPE = 0.2


class Discriminator(nn.Sequential):
    """Convolutions that halve the sides, then two that do not: [B, C, S, S] -> verdicts [B, 1, P, P], > 0 for images.

    Features are normalised within each image, not over the batch: a verdict depends on one image alone.
    """

    def __init__(self, channels: int, width: int, layers: int) -> None:
        widths = [width * min(2**layer, _MOST) for layer in range(layers + 1)]
        parts: list[nn.Module] = [nn.Conv2d(channels, width, 4, 2, 1), nn.LeakyReLU(_SLOPE)]
        for layer, (before, after) in enumerate(pairwise(widths), 1):
            stride = 2 if layer < layers else 1
            parts += [nn.Conv2d(before, after, 4, stride, 1, bias=False), group_norm(after), nn.LeakyReLU(_SLOPE)]
        super().__init__(*parts, nn.Conv2d(widths[-1], 1, 4, 1, 1))

    def verdicts(self, images: Tensor) -> Tensor:
        """Return the mean verdict on each image [B, C, S, S], [B]."""
        verdicts: Tensor = self(images)
        return verdicts.flatten(1).mean(1)


def new_discriminator(loss: TokenizerLoss, channels: int, side: int) -> Discriminator | None:
    """Return the discriminator that a loss asks for; None if there is no adversarial loss."""
    if not loss.adversarial:
        return None
    smallest = 3 * 2**loss.discriminator_layers  # the two convolutions that do not halve each take one place off
    if side < smallest:
        layers = f"tokenizer.loss.discriminator_layers = {loss.discriminator_layers}"
        raise KinoflowError(f"{layers} needs images of {smallest} pixels, these have {side}; give fewer layers")
    return Discriminator(channels, loss.discriminator_channels, loss.discriminator_layers)
