"""The digits of UCI: 1,797 handwritten digits of 8 x 8 pixels with 17 levels of grey; they come without splits."""

import gzip
import zlib
from pathlib import Path

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from pipeline.config import Strict
from pipeline.images.imagedata import ImageData, constant, split_images
from pipeline.images.picture import ImageError

FILES = ("digits/digits.csv.gz",)
CLASSES = tuple("0123456789")
_SIDE, _LEVELS = 8, 17
levels, side, channels, class_count = constant(_LEVELS), constant(_SIDE), constant(1), constant(len(CLASSES))


class Options(Strict):
    """How many are used."""

    train: int | None = Field(None, ge=1, description="train on at most so many; null: all that are not held out")
    validation: int = Field(200, ge=1, description="held out for the validation loss")
    test: int = Field(200, ge=1, description="held out for evaluation")


def read(options: Options, seed: int, cache: Path) -> ImageData:
    """Read the digits, and split them at random."""
    file = cache / FILES[0]
    return split_images("digits", options, {"train": _digits(file)}, seed, str(file), CLASSES, _LEVELS)


def _digits(file: Path) -> tuple[Tensor, Tensor]:
    """Return the images uint8[N, 8, 8, 1] and their classes [N]; a line of the file has 64 pixels and the class."""
    try:
        with gzip.open(file, "rt", encoding="ascii") as stream:
            table = np.loadtxt(stream, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ImageError(f"{file}: cannot be read as digits ({error}); fetch `digits` again") from error
    allowed = np.array([_LEVELS - 1] * _SIDE**2 + [9])  # the largest values of a line
    if table.shape[1:] != allowed.shape or table.min() < 0 or (table > allowed).any():
        raise ImageError(f"{file}: not lines of 64 levels 0, ..., 16 and a class 0, ..., 9; fetch `digits` again")
    pixels = torch.from_numpy(table[:, :-1].astype(np.uint8)).view(-1, _SIDE, _SIDE, 1)
    return pixels, torch.from_numpy(table[:, -1].astype(np.int64))
