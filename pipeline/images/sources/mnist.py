"""MNIST: 70,000 handwritten digits of 28 x 28 pixels with 256 levels of grey, in its own splits."""

import math
from operator import attrgetter
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from pipeline.config import Strict
from pipeline.images.imagedata import ImageData, constant, split_images
from pipeline.images.picture import ImageError

FILES = (
    "mnist/train-images-idx3-ubyte",
    "mnist/train-labels-idx1-ubyte",
    "mnist/t10k-images-idx3-ubyte",
    "mnist/t10k-labels-idx1-ubyte",
)
CLASSES = tuple("0123456789")
_SIDE = 28
side = attrgetter("size")
levels, channels, class_count = constant(256), constant(1), constant(len(CLASSES))


class Options(Strict):
    """Their size, and how many are used."""

    size: Literal[28, 32] = Field(28, description="pixels along a side; 32: with a black border of 2")
    train: int | None = Field(None, ge=1, description="train on at most so many; null: all that are not held out")
    validation: int = Field(5000, ge=1, description="held out of the training images for the validation loss")
    test: int | None = Field(None, ge=1, description="at most so many of the test images; null: all")


def read(options: Options, seed: int, cache: Path) -> ImageData:
    """Read the digits, and hold out some of the training images."""
    sets = {
        split: _digits(cache / FILES[number], cache / FILES[number + 1], (options.size - _SIDE) // 2)
        for split, number in (("train", 0), ("test", 2))
    }
    return split_images("mnist", options, sets, seed, "mnist", CLASSES)


def _digits(image_file: Path, label_file: Path, border: int) -> tuple[Tensor, Tensor]:
    """Return the images uint8[N, S, S, 1] of a split and their classes [N]."""
    images, labels = _idx(image_file, 3), _idx(label_file, 1).long()
    if images.shape[1:] != (_SIDE, _SIDE) or len(images) != len(labels) or (len(labels) and int(labels.max()) > 9):
        files = f"{image_file}, {label_file}"
        raise ImageError(f"{files}: not {_SIDE} x {_SIDE} pixels and a class each; fetch `mnist` again")
    return functional.pad(images, (border,) * 4)[..., None], labels


def _idx(file: Path, dimensions: int) -> Tensor:
    """Return the array of an IDX file: two zeros, 8 for bytes, the number of dimensions, sizes of 4 bytes, values."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ImageError(f"{file}: cannot be read ({error.strerror}); fetch `mnist`") from error
    start = 4 + 4 * dimensions
    shape = np.frombuffer(content[4:start], ">u4").tolist() if len(content) >= start else []
    if content[:4] != bytes([0, 0, 8, dimensions]) or len(content) != start + math.prod(shape):
        raise ImageError(f"{file}: is not an IDX file of bytes in {dimensions} dimensions; fetch `mnist` again")
    return torch.from_numpy(np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy())
