"""The digits of UCI: 1,797 handwritten digits of 8 x 8 pixels with 17 levels of grey; they come without splits."""

import gzip
import zlib
from pathlib import Path

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from pipeline.config import Strict
from pipeline.images.imagedata import ImageData, split_images
from pipeline.images.picture import ImageError

FILES = ("digits/digits.csv.gz",)
CLASSES = tuple("0123456789")
_SIDE, _LEVELS = 8, 17


class Options(Strict):
    """How many are used."""

    train: int | None = Field(None, ge=1, description="train on at most so many; null: all that are not held out")
    validation: int = Field(200, ge=1, description="held out for the validation loss")
    test: int = Field(200, ge=1, description="held out for evaluation")


def levels(options: Options) -> int:
    """Return how many values a pixel can have."""
    return _LEVELS


def side(options: Options) -> int:
    """Return the pixels along a side."""
    return _SIDE


def channels(options: Options) -> int:
    """Return how many channels a pixel has."""
    return 1


def class_count(options: Options) -> int:
    """Return how many classes there are."""
    return len(CLASSES)


def read(options: Options, seed: int, cache: Path) -> ImageData:
    """Read the digits, and split them at random."""
    file = cache / FILES[0]
    held_out = {"validation": options.validation, "test": options.test}
    images, labels = split_images({"train": _digits(file)}, held_out, {"train": options.train}, seed, str(file))
    origin = {"name": "digits"} | options.model_dump(mode="json")
    return ImageData(images, labels, CLASSES, _LEVELS, _SIDE, "none", origin)


def _digits(file: Path) -> tuple[Tensor, Tensor]:
    """Return the images uint8[N, 8, 8, 1] and their classes [N]; a line of the file has 64 pixels and the class."""
    try:
        with gzip.open(file, "rt", encoding="ascii") as stream:
            table = np.loadtxt(stream, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ImageError(f"{file}: cannot be read as digits ({error}); fetch `digits` again") from error
    if (
        table.shape[1:] != (_SIDE**2 + 1,)
        or table.min() < 0
        or table[:, :-1].max() >= _LEVELS
        or table[:, -1].max() > 9
    ):
        raise ImageError(f"{file}: not lines of 64 levels 0, ..., 16 and a class 0, ..., 9; fetch `digits` again")
    pixels = torch.from_numpy(table[:, :-1].astype(np.uint8)).view(-1, _SIDE, _SIDE, 1)
    return pixels, torch.from_numpy(table[:, -1].astype(np.int64))
