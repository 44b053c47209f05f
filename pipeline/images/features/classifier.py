"""A small classifier that the workflow trains on the experiment's own images and classes.

It needs no file from elsewhere. Compare its scores only between runs of one experiment.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from pipeline.config import Strict
from pipeline.images.feature_choice import FeatureError

if TYPE_CHECKING:  # for types only: functions import what they need when called
    import torch

    from pipeline.images.extractor import FeatureExtractor

TRAINED = True


class Options(Strict):
    """The size of the network, and how it is trained."""

    width: int = Field(32, ge=8, multiple_of=8, description="channels of the first convolutions; later ones have more")
    features: int = Field(64, ge=1, description="features that images are compared by: the last but one layer")
    steps: int = Field(600, ge=1, description="optimiser steps")
    batch: int = Field(64, ge=1, description="images in one optimiser step")
    learning_rate: float = Field(1e-3, gt=0, description="step size of AdamW")
    weight_decay: float = Field(0.01, ge=0, description="AdamW's weight decay")


def label(options: Options) -> str:
    """Return what the tables call the features."""
    return f"own classifier ({options.features} features, {options.steps} steps)"


def load(options: Options, *, cache: Path, classifier: Path | None, device: torch.device) -> FeatureExtractor:
    """Return the network that was trained on the experiment's images."""
    from pipeline.images.classifier import load_classifier
    from pipeline.images.extractor import FeatureExtractor

    if classifier is None or not classifier.is_file():
        raise FeatureError("classifier", f"there are no weights of it ({classifier}); train it and give them")
    network, classes = load_classifier(classifier, options)
    network.to(device)
    return FeatureExtractor(network.features, options.features, device, network.head, classes)
