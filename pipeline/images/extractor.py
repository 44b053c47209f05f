"""Features of images from a network, and the conversion of images to what the network was trained on.

Letters in shapes: N images of H rows, W columns and C channels, F features.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.errors import KinoflowError

Embed = Callable[[Tensor], Tensor]  # images uint8[N, H, W, C] -> features [N, F]
Head = Callable[[Tensor], Tensor]  # features [N, F] -> logits of the classes
N = TypeVar("N", bound=nn.Module)


@dataclass(frozen=True)
class FeatureExtractor:
    """A network that gives each image `width` features and, if it has a `head`, one of its `classes`."""

    embed: Embed
    width: int
    device: torch.device
    head: Head | None = None
    classes: tuple[str, ...] | None = None

    @torch.no_grad()
    def features(self, images: Tensor) -> Tensor:
        """Return the features of images uint8[N, H, W, C], in one batch, float32[N, F] on the CPU."""
        if images.dim() != 4 or images.dtype != torch.uint8 or images.shape[-1] not in (1, 3):
            raise KinoflowError(
                f"images uint8[N, H, W, 1 or 3] expected, got {images.dtype}{list(images.shape)}; give bytes 0..255"
            )
        features = self.embed(images.to(self.device)).float().cpu()
        if not bool(features.isfinite().all()):
            raise KinoflowError("the network gives features that are not finite; fetch or train it again")
        return features

    @torch.no_grad()
    def classes_of(self, features: Tensor) -> Tensor | None:
        """Return the most likely class for features [N, F], int64[N]; None without a head."""
        return None if self.head is None else self.head(features.to(self.device)).argmax(dim=-1).cpu()


def in_colour(images: Tensor) -> Tensor:
    """Return images [N, H, W, C] with channels first, [N, 3, H, W]; grey images get three equal channels."""
    return images.permute(0, 3, 1, 2).expand(-1, 3, -1, -1)


def resized(images: Tensor, side: int) -> Tensor:
    """Return images [N, C, H, W] as squares, [N, C, side, side]: bilinear, antialiased when shrinking."""
    if images.shape[-2:] == (side, side):
        return images
    return functional.interpolate(images, size=(side, side), mode="bilinear", antialias=True, align_corners=False)


def loaded(network: N, path: Path, name: str, entry: str | None = None) -> N:
    """Return a network with its published weights from a file, or from an entry of it, in evaluation mode."""
    try:
        weights: Any = torch.load(path, weights_only=True, map_location="cpu")
        if entry is not None:  # trained on several devices
            weights = {key.removeprefix("module."): value for key, value in weights[entry].items()}
        network.load_state_dict(weights)
    except pickle.UnpicklingError as error:
        reason = "it is damaged, or holds more than tensors and plain values. Do not trust this file"
        raise KinoflowError(f"{path}: no weights of {name}: {reason}; remove it and fetch it again") from error
    except (RuntimeError, KeyError, EOFError, TypeError, ValueError) as error:
        reason = f"no weights of {name} ({str(error).splitlines()[0]})"
        raise KinoflowError(f"{path}: {reason}; remove it and fetch it again") from error
    return network.eval()
