"""Features of images: the mean and deviation of each colour. Copy to pipeline/images/features/colours.py.

In the configuration: `scoring: {frechet_distance: {features: colours}}`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config import Strict

if TYPE_CHECKING:
    import torch

    from pipeline.images.extractor import FeatureExtractor


class Options(Strict):
    """None."""


def label(options: Options) -> str:
    """Return what the tables call the features."""
    return "means and deviations of colours"


def load(options: Options, *, cache: Path, classifier: Path | None, device: torch.device) -> FeatureExtractor:
    """Return what gives each image its features."""
    import torch

    from pipeline.images.extractor import FeatureExtractor, in_colour

    def embed(images: torch.Tensor) -> torch.Tensor:
        pixels = in_colour(images).float().flatten(2)
        return torch.cat([pixels.mean(-1), pixels.std(-1)], dim=1)

    return FeatureExtractor(embed, 6, device)
