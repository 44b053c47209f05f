"""A residual network (K. He et al., 2016) that classifies CIFAR-10: 64 features of small images.

Compare scores only with those of the same network. It sees 32 pixels per side: other images are resized (bilinear,
antialiased when shrinking), and grey images get three equal channels.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from pipeline.config import Strict
from pipeline.images.feature_choice import fetched_file

if TYPE_CHECKING:  # for types only: functions import what they need when called
    import torch
    from torch import Tensor

    from pipeline.images.extractor import FeatureExtractor

_FILES = {20: "cifar10_resnet/resnet20-12fca82f.th", 56: "cifar10_resnet/resnet56-4bfd9763.th"}
_SIDE = 32
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as in its training


class Options(Strict):
    """Which of the networks."""

    depth: Literal[20, 56] = Field(56, description="layers of the network: 20 or 56")


def label(options: Options) -> str:
    """Return what the tables call the features."""
    return f"CIFAR-10 ResNet-{options.depth}"


def files(options: Options) -> list[str]:
    """Return the catalogue names of its files."""
    return [_FILES[options.depth]]


def load(options: Options, *, cache: Path, classifier: Path | None, device: torch.device) -> FeatureExtractor:
    """Return the network from its file in `cache`."""
    import torch

    from pipeline.images.extractor import FeatureExtractor, in_colour, loaded, resized
    from pipeline.images.resnet import CHANNELS, CifarResNet
    from pipeline.images.sources.cifar10 import CLASSES

    path = fetched_file("cifar_resnet", cache, _FILES[options.depth])
    network = loaded(CifarResNet(options.depth), path, f"a ResNet-{options.depth}", "state_dict").to(device)
    mean, deviation = (torch.tensor(values, device=device)[:, None, None] for values in (_MEAN, _DEVIATION))

    def embed(images: Tensor) -> Tensor:
        return network((resized(in_colour(images).float(), _SIDE) / 255 - mean) / deviation)

    return FeatureExtractor(embed, CHANNELS[-1], device, network.linear, CLASSES)
