"""Parameters and FLOPs of networks for images: the tokenizer with all it is trained with, and the classifier."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor

from pipeline.config import Tokenizer
from pipeline.images.classifier import Classifier, Description
from pipeline.images.perceptual import LAYERS, Lpips
from pipeline.images.vqgan import new_discriminator
from pipeline.images.vqvae import VQVAE
from pipeline.inspect.plan.counting import BACKWARD, Count, flops_of, parameters_of, stored_in
from pipeline.inspect.plan.shapes import Images, Shape

# Kernel size and features of each layer of LPIPS, in order.
_KERNELS: dict[Literal["vgg16", "alexnet"], tuple[tuple[int, int], ...]] = {
    "vgg16": tuple((3, features) for features in (64, 64, 128, 128, *[256] * 3, *[512] * 6)),
    "alexnet": ((11, 64), (5, 192), (3, 384), (3, 256), (3, 256)),
}


@dataclass(frozen=True)
class TokenizerCount:
    """The VQVAE, its discriminator (None: there is none), and the FLOPs per image of each kind of work."""

    vqvae: Count
    discriminator: Count | None
    encode: int
    decode: int
    quiet_step: int  # of training, before the discriminator starts
    step: int  # and with it


def count_tokenizer(tokenizer: Tokenizer, codes: int, images: Images) -> TokenizerCount:
    """Count a tokenizer for images."""
    network, loss = tokenizer.network, tokenizer.loss
    with torch.device("meta"):
        vqvae = VQVAE(network, codes, images.channels).eval().requires_grad_(False)
        discriminator = new_discriminator(loss, images.channels, images.side)
        picture = torch.empty(1, images.channels, images.side, images.side)
        places = images.side // network.down
        latents = torch.empty(1, network.code_features, places, places)
    nearest = 2 * places**2 * codes * network.code_features  # the products of all vectors with all codes
    encode = flops_of(lambda: vqvae.encoder(picture)) + nearest
    decode = flops_of(lambda: vqvae.decoder(latents))
    # Codes are updated with products of the same size, and have no gradients.
    quiet = (1 + BACKWARD) * (encode + decode - nearest) + 2 * nearest
    quiet += count_lpips(loss.perceptual_network, picture) if loss.perceptual else 0
    counted = Count(parameters_of(vqvae), stored_in(vqvae), encode + decode)
    if discriminator is None:
        return TokenizerCount(counted, None, encode, decode, quiet, quiet)
    verdict = flops_of(lambda: discriminator.requires_grad_(False)(picture))
    of_discriminator = Count(parameters_of(discriminator), stored_in(discriminator), verdict)
    # For the VQVAE, it sees each reconstruction once, with gradients for the features only. For itself, it sees each
    # reconstruction and each image, with all gradients.
    step = quiet + (1 + 1) * verdict + 2 * (1 + BACKWARD) * verdict
    return TokenizerCount(counted, of_discriminator, encode, decode, quiet, step)


def count_lpips(network: Literal["vgg16", "alexnet"], picture: Tensor) -> int:
    """Return the FLOPs of LPIPS and of its gradients, which only the features of one image have."""
    kernels, widths = _KERNELS[network], [3, *(features for _, features in _KERNELS[network])]
    with torch.device(picture.device):
        layers = [
            torch.empty(after, before, side, side)
            for (side, _), (before, after) in zip(kernels, pairwise(widths), strict=True)
        ]
        biases = [torch.empty(after) for after in widths[1:]]
        _, chosen = LAYERS[network]
        compared = [width for layer, width in zip(chosen, widths[1:], strict=True) if layer.compared]
        lpips = Lpips(chosen, layers, biases, [torch.empty(width) for width in compared])
    return flops_of(lambda: lpips(picture, picture)) * 3 // 2


def count_classifier(options: Any, shape: Shape) -> Count:
    """Count the classifier whose features are used to compare images."""
    assert shape.images is not None, "only images are classified"
    images, classes = shape.images, tuple(map(str, range(max(2, shape.classes))))
    with torch.device("meta"):
        description = Description(options=options, side=images.side, channels=images.channels, classes=classes)
        classifier = Classifier(description).eval().requires_grad_(False)
        picture = torch.empty(1, images.side, images.side, images.channels, dtype=torch.uint8)
    return Count(parameters_of(classifier), stored_in(classifier), flops_of(lambda: classifier(picture)))
