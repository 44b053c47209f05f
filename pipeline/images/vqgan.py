"""Training of a VQVAE: its losses, which are differences of pixels, LPIPS and a discriminator, and what it starts from.

The losses of the VQVAE and of the discriminator are minimised together, in one step; neither has gradients for the
other's parameters. Letters in shapes: B images of C channels and side S.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from pipeline.config import Config, Tokenizer, TokenizerLoss
from pipeline.config.plugins import DATASETS
from pipeline.errors import KinoflowError
from pipeline.images.imagedata import Augmentation, ImageData, central
from pipeline.images.perceptual import Lpips
from pipeline.images.tokenizer import Description
from pipeline.images.vqvae import VQVAE, check_side, group_norm, processes, to_unit

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


def new_discriminator(loss: TokenizerLoss, channels: int, side: int) -> Discriminator | None:
    """Return the discriminator that a loss asks for; None if there is no adversarial loss."""
    if not loss.adversarial:
        return None
    smallest = 3 * 2**loss.discriminator_layers  # the two convolutions that do not halve each take one place off
    if side < smallest:
        layers = f"tokenizer.loss.discriminator_layers = {loss.discriminator_layers}"
        raise KinoflowError(f"{layers} needs images of {smallest} pixels, these have {side}; give fewer layers")
    return Discriminator(channels, loss.discriminator_channels, loss.discriminator_layers)


class VQGAN(nn.Module):
    """A VQVAE and all that it is trained with; it returns losses.

    The discriminator starts after `adversarial_from` steps of `batch` images. A buffer counts the images seen so far:
    the discriminator also starts on time if training was stopped and resumed.
    """

    images_seen: Tensor

    def __init__(
        self,
        vqvae: VQVAE,
        loss: TokenizerLoss,
        batch: int,
        lpips: Lpips | None = None,
        discriminator: Discriminator | None = None,
    ) -> None:
        super().__init__()
        self.vqvae, self.discriminator, self.lpips = vqvae, discriminator, lpips
        self.loss, self.quiet_images = loss, loss.adversarial_from * batch
        self.register_buffer("images_seen", torch.zeros((), dtype=torch.int64))

    def forward(self, images: Tensor) -> Tensor:
        """Return the losses [B] of images [B, C, S, S] with values in [-1, 1]; in evaluation, only `unlikeness`."""
        rebuilt = self.vqvae(images)
        losses = self.unlikeness(rebuilt.images, images)
        if not self.training:
            return losses
        losses = losses + rebuilt.loss
        if self.discriminator is not None and int(self.images_seen) >= self.quiet_images:
            losses = losses + self.loss.adversarial * self.suspicion(rebuilt.images)
            losses = losses + self.error_of_the_discriminator(images, rebuilt.images)
        self.images_seen += len(images) * processes()
        return losses

    def unlikeness(self, rebuilt: Tensor, images: Tensor) -> Tensor:
        """Return how much rebuilt images differ from the originals, in pixels and by LPIPS, [B]."""
        difference = functional.l1_loss if self.loss.pixel == "l1" else functional.mse_loss
        losses = difference(rebuilt.float(), images, reduction="none").flatten(1).mean(1)
        return losses if self.lpips is None else losses + self.loss.perceptual * self.lpips(rebuilt, images)

    def suspicion(self, rebuilt: Tensor) -> Tensor:
        """Return how sure the discriminator is that images are rebuilt, [B], without gradients for its parameters."""
        assert self.discriminator is not None
        frozen = {name: parameter.detach() for name, parameter in self.discriminator.named_parameters()}
        return -functional_call(self.discriminator, frozen, (rebuilt,)).float().flatten(1).mean(1)

    def error_of_the_discriminator(self, images: Tensor, rebuilt: Tensor) -> Tensor:
        """Return the hinge loss of the discriminator, [B], with gradients for its parameters only."""
        assert self.discriminator is not None
        of_images, of_rebuilt = self.discriminator(images).float(), self.discriminator(rebuilt.detach()).float()
        return ((functional.relu(1 - of_images) + functional.relu(1 + of_rebuilt)) / 2).flatten(1).mean(1)


@dataclass(frozen=True)
class TokenizerObjective:
    """The losses of images with values 0, ..., levels - 1; training sees a random view each time."""

    levels: int
    crop: int
    augmentation: Augmentation

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        augmentation = self.augmentation if network.training else "none"
        images = rows.to(generator.device, non_blocking=True)
        return network(to_unit(random_view(images, self.crop, augmentation, generator), self.levels))


def random_view(images: Tensor, crop: int, augmentation: Augmentation, generator: torch.Generator) -> Tensor:
    """Return random views of images [B, S, S, C]: mirrored or not and, for `ten_crop`, cropped anywhere."""
    if augmentation == "none":
        return central(images, crop)
    batch, side, device = len(images), images.shape[1], images.device
    if augmentation == "ten_crop":
        corners = torch.randint(side - crop + 1, (2, batch), generator=generator, device=device)
        rows, columns = corners[..., None] + torch.arange(crop, device=device)  # [B, crop] each
        images = images[torch.arange(batch, device=device)[:, None, None], rows[:, :, None], columns[:, None, :]]
    else:
        images = central(images, crop)
    mirrored = torch.rand(batch, generator=generator, device=device) < 0.5
    return torch.where(mirrored[:, None, None, None], images.flip(2), images)


def tokenizer_of(config: Config, experiment: str) -> Tokenizer:
    """Return the settings of an experiment's tokenizer; raise if it has none."""
    if (chosen := config.experiments[experiment].tokenizer) is None:
        raise KinoflowError(f"experiments.{experiment}.tokenizer: there is none; add the block")
    return chosen


def describe(config: Config, experiment: str, data: ImageData) -> Description:
    """Return the description of an experiment's tokenizer."""
    choice, network = config.experiments[experiment].data, tokenizer_of(config, experiment).network
    options = DATASETS.options(choice.name, choice.options)
    if not hasattr(options, "codes"):
        raise KinoflowError(f"experiments.{experiment}.data: {choice.name!r} has no codes; remove the key `tokenizer`")
    check_side(data.crop, network)
    return Description(
        experiment=experiment,
        network=network,
        codes=options.codes,
        levels=data.levels,
        side=data.crop,
        channels=data.grid[-1],
        seed=config.seed,
    )


def new_vqgan(chosen: Tokenizer, description: Description, needed: list[Path]) -> VQGAN:
    """Return an untrained tokenizer and what it is trained with; `needed` are the files of LPIPS, if any."""
    loss, network = chosen.loss, description.network
    images_at_once = chosen.training.batch // chosen.training.parts * processes()
    places = (description.side // network.down) ** 2 * images_at_once
    return VQGAN(
        VQVAE(network, description.codes, description.channels, loss.commitment, places),
        loss,
        chosen.training.batch,
        Lpips.load(needed[0], loss.perceptual_network) if needed else None,
        new_discriminator(loss, description.channels, description.side),
    )
