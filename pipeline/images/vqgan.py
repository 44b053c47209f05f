"""The losses of a VQVAE: differences of pixels, LPIPS, and a discriminator.

The losses of the VQVAE and of the discriminator are minimised together, in one step; neither has gradients for the
other's parameters. Letters in shapes: B images of C channels and side S.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from pipeline.config import TokenizerLoss
from pipeline.images.discriminator import Discriminator
from pipeline.images.imagedata import Augmentation, central
from pipeline.images.perceptual import Lpips
from pipeline.images.quantiser import processes
from pipeline.images.unit_values import to_unit
from pipeline.images.vqvae import VQVAE


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
        verdicts: Tensor = functional_call(self.discriminator, frozen, (rebuilt,))
        return -verdicts.float().flatten(1).mean(1)

    def error_of_the_discriminator(self, images: Tensor, rebuilt: Tensor) -> Tensor:
        """Return the hinge loss of the discriminator, [B], with gradients for its parameters only."""
        assert self.discriminator is not None
        of_images, of_rebuilt = self.discriminator(images).float(), self.discriminator(rebuilt.detach()).float()
        errors: Tensor = (functional.relu(1 - of_images) + functional.relu(1 + of_rebuilt)) / 2
        return errors.flatten(1).mean(1)


@dataclass(frozen=True)
class TokenizerObjective:
    """The losses of images with values 0, ..., levels - 1; training sees a random view each time."""

    levels: int
    crop: int
    augmentation: Augmentation

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        if network.training:
            seen = random_view(rows, self.crop, self.augmentation, generator)
        else:
            seen = central(rows, self.crop)
        losses: Tensor = network(to_unit(seen, self.levels))
        return losses


def random_view(images: Tensor, crop: int, augmentation: Augmentation, generator: torch.Generator) -> Tensor:
    """Return random views of images [B, S, S, C]: mirrored or not and, for `ten_crop`, cropped anywhere."""
    if augmentation == "none":
        return central(images, crop)
    batch, side, device = len(images), images.shape[1], images.device
    if augmentation == "ten_crop":
        corners = torch.randint(side - crop + 1, (2, batch), generator=generator).to(device)
        rows, columns = corners[..., None] + torch.arange(crop, device=device)  # [B, crop] each
        images = images[torch.arange(batch, device=device)[:, None, None], rows[:, :, None], columns[:, None, :]]
    else:
        images = central(images, crop)
    mirrored = torch.rand(batch, generator=generator).to(device) < 0.5
    return torch.where(mirrored[:, None, None, None], images.flip(2), images)
