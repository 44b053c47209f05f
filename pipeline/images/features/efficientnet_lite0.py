"""EfficientNet-Lite0 (M. Tan and Q. Le, 2019), trained on ImageNet: 1280 features, from a package registry.

Compare scores only with those of the same network. It sees 224 pixels per side: images are resized (bilinear,
antialiased when shrinking), and grey images get three equal channels.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config import Strict
from pipeline.images.feature_choice import FeatureError

if TYPE_CHECKING:  # for types only: functions import what they need when called
    import torch
    from torch import Tensor

    from pipeline.images.extractor import FeatureExtractor

FILE = "efficientnet_lite0/efficientnet-lite0-57934424.pth"


class Options(Strict):
    """Nothing to choose."""


def label(options: Options) -> str:
    """Return what the tables call the features."""
    return "EfficientNet-Lite0"


def files(options: Options) -> list[str]:
    """Return the catalogue names of its files."""
    return [FILE]


def load(options: Options, *, cache: Path, classifier: Path | None, device: torch.device) -> FeatureExtractor:
    """Return the network from its file in `cache`."""
    from pipeline.images.efficientnet_lite import FEATURES, SIDE, read_efficientnet_lite0
    from pipeline.images.extractor import FeatureExtractor, in_colour, resized

    path = cache / FILE
    if not path.is_file():
        fix = f"run `python -m pipeline fetch efficientnet_lite0 --cache {cache}`"
        raise FeatureError("efficientnet_lite0", f"{path}: no such file; {fix}")
    network = read_efficientnet_lite0(path).to(device)

    def embed(images: Tensor) -> Tensor:
        features: Tensor = network((resized(in_colour(images).float(), SIDE) - 127) / 128)
        return features

    return FeatureExtractor(embed, FEATURES, device)
