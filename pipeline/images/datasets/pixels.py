"""Images as pixels: one token per pixel and channel, its value."""

from typing import Any

import torch

from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.dataset import ImageOptions, files, image_source, inputs, modules
from pipeline.images.imagedata import ImageData
from pipeline.tokens.token_data import SPLITS, TokenData

__all__ = ["IMAGES", "Options", "files", "from_images", "inputs", "modules", "vocabulary"]

IMAGES = True  # its images are prepared first, and `from_images` makes the tokens


class Options(ImageOptions):
    """Which images."""


def vocabulary(options: Options) -> Vocabulary:
    """Return one token for each value of a pixel, and a mask."""
    return Vocabulary.single(image_source(options).levels, specials=1)


def from_images(options: Options, images: ImageData) -> TokenData:
    """Return the values of the pixels, row by row, with their channels side by side; training images in all views."""
    parts = {split: list(images.parts(split)) for split in SPLITS} | {"train": list(images.training_parts())}
    tokens: dict[str, Any] = {
        split: torch.cat([part.flatten(1) for part, _ in found]) for split, found in parts.items()
    }
    return TokenData(
        **tokens,
        vocabulary=Vocabulary.single(images.levels, specials=1),
        origin={"name": "pixels"} | options.model_dump(mode="json"),
        record=images.record | {"classes": list(images.classes)},
        grid=images.grid,
        labels={split: torch.cat([labels for _, labels in found]) for split, found in parts.items()},
        classes=len(images.classes),
    )
