"""EfficientNet-Lite0 (M. Tan and Q. Le, 2019), trained on ImageNet: 1280 features, from a package registry.

Compare scores only with those of the same network. It sees 224 pixels per side: images are resized (bilinear,
antialiased when shrinking), and grey images get three equal channels.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config import Strict
from pipeline.images.feature_choice import fetched_file

if TYPE_CHECKING:  # for types only: functions import what they need when called
    import torch
    from torch import Tensor

    from pipeline.images.extractor import FeatureExtractor

FILES = ("efficientnet_lite0/efficientnet-lite0-57934424.pth",)


class Options(Strict):
    """Nothing to choose."""


def label(options: Options) -> str:
    """Return what the tables call the features."""
    return "EfficientNet-Lite0"


def load(options: Options, *, cache: Path, classifier: Path | None, device: torch.device) -> FeatureExtractor:
    """Return the network from its file in `cache`."""
    from pipeline.images.efficientnet_lite import FEATURES, SIDE, EfficientNetLite0
    from pipeline.images.extractor import FeatureExtractor, in_colour, loaded, resized

    path = fetched_file("efficientnet_lite0", cache, FILES[0])
    network = loaded(EfficientNetLite0(), path, "EfficientNet-Lite0").to(device)

    def embed(images: Tensor) -> Tensor:
        return network((resized(in_colour(images).float(), SIDE) - 127) / 128)

    return FeatureExtractor(embed, FEATURES, device)
