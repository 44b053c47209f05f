"""A set of images: arrays of the user's own file. Copy to pipeline/images/sources/arrays.py, and change it.

In the configuration: `data: {name: pixels, images: {name: arrays, path: my.npz}}`.
"""

from pathlib import Path

import numpy as np
import torch
from pydantic import Field

from pipeline.config import Strict
from pipeline.images.imagedata import ImageData, constant, split_images

CLASSES = ("cat", "dog")
LEVELS, SIDE, CHANNELS = 256, 8, 3

levels, side, channels, class_count = constant(LEVELS), constant(SIDE), constant(CHANNELS), constant(len(CLASSES))


class Options(Strict):
    """Which file, and how many images are used."""

    path: Path = Field(description=".npz with `images`, uint8[N, 8, 8, 3], and `classes`, int64[N]")
    train: int | None = Field(None, ge=1, description="train on at most so many; null: all that are not held out")
    validation: int = Field(10, ge=1, description="held out for the validation loss")
    test: int = Field(10, ge=1, description="held out for evaluation")


def read(options: Options, seed: int, cache: Path) -> ImageData:
    """Read the images, and split them at random."""
    with np.load(options.path, allow_pickle=False) as stored:
        found = torch.from_numpy(stored["images"]), torch.from_numpy(stored["classes"])
    return split_images("arrays", options, {"train": found}, seed, str(options.path), CLASSES, LEVELS)
