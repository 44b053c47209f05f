"""Prepared images: squares of one size in named splits, with their classes, in one safetensors file.

The file is memory-mapped: a split may be larger than memory, as long as nobody reads all of it at once.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.images.picture import ImageError
from pipeline.store.seeds import derive_seed
from pipeline.store.tensors import read_tensors, write_tensors
from pipeline.tokens.token_data import SPLITS

T = TypeVar("T")
Augmentation = Literal["none", "flip", "ten_crop"]
VIEWS: dict[Augmentation, int] = {"none": 1, "flip": 2, "ten_crop": 10}
_LABELS = "labels/"
_DESCRIPTION = ("classes", "levels", "crop", "augmentation", "origin", "record")  # what the file says of the images
_AT_ONCE = 2**26  # bytes of images that are processed together


@dataclass(frozen=True)
class ImageData:
    """Images uint8[N, S, S, C] with values 0, ..., levels - 1 and classes int64[N] for each of the splits.

    Networks see squares of side `crop` <= S. The `augmentation` gives the views of a training image: its middle
    (`none`), also mirrored (`flip`), or the middle and the corners, each also mirrored (`ten_crop`).
    """

    images: dict[str, Tensor]
    labels: dict[str, Tensor]
    classes: tuple[str, ...]
    levels: int
    crop: int
    augmentation: Augmentation
    origin: dict[str, Any]
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for split in SPLITS:
            images, labels = self.images[split], self.labels[split]
            if images.dim() != 4 or images.dtype != torch.uint8 or not len(images) or len(images) != len(labels):
                raise KinoflowError(f"{split}: images uint8[N, S, S, C] with a class each expected; give more data")
            if images.shape[1] != images.shape[2] or images.shape[1:] != self.images["train"].shape[1:]:
                raise KinoflowError(f"{split}: {tuple(images.shape[1:])} is no square as in train; give equal squares")
        if not 1 <= self.crop <= self.images["train"].shape[1]:
            raise KinoflowError(f"crop {self.crop}: images have a side of {self.images['train'].shape[1]}; crop less")

    @property
    def grid(self) -> tuple[int, int, int]:
        """Rows, columns and channels of what networks see."""
        return self.crop, self.crop, self.images["train"].shape[-1]

    @property
    def views(self) -> int:
        """How many views each training image has."""
        return VIEWS[self.augmentation]

    def parts(self, split: str, at_once: int = _AT_ONCE) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the images of a split as networks see them, cropped to the middle, with their classes, in parts."""
        images, labels = self.images[split], self.labels[split]
        rows = max(1, at_once // images[0].numel())
        for start in range(0, len(images), rows):
            yield central(images[start : start + rows], self.crop), labels[start : start + rows]

    def training_parts(self, at_once: int = _AT_ONCE, passed: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all views of the training images with their classes, in parts: the first view of all images first.

        The first `passed` views are skipped without reading them. The boundaries of the parts do not change.
        """
        images, labels = self.images["train"], self.labels["train"]
        rows = max(1, at_once // images[0].numel())
        for number in range(self.views):
            for start in range(0, len(images), rows):
                part, classes = images[start : start + rows], labels[start : start + rows]
                left_out = max(0, passed - number * len(images) - start)
                if left_out < len(part):
                    yield view(part, self.crop, self.augmentation, number)[left_out:], classes[left_out:]

    def save(self, path: Path) -> None:
        tensors = dict(self.images) | {_LABELS + split: labels.to(torch.int32) for split, labels in self.labels.items()}
        description = {name: getattr(self, name) for name in _DESCRIPTION}
        write_tensors(path, "images", tensors, description)

    @classmethod
    def load(cls, path: Path) -> "ImageData":
        tensors, description = read_tensors(path, "images")
        images = {split: tensors[split] for split in SPLITS}
        labels = {split: tensors[_LABELS + split].long() for split in SPLITS}
        described = {name: description[name] for name in _DESCRIPTION}
        return cls(images, labels, **described | {"classes": tuple(description["classes"])})


def view(images: Tensor, crop: int, augmentation: Augmentation, number: int) -> Tensor:
    """Return one view of images [N, S, S, C] by its number, [N, crop, crop, C]; the first is the middle."""
    place, mirrored = divmod(number, 2)
    if not 0 <= number < VIEWS[augmentation]:
        raise KinoflowError(f"view {number}: {augmentation!r} has {VIEWS[augmentation]}")
    far = images.shape[1] - crop
    corners = ((far // 2, far // 2), (0, 0), (0, far), (far, 0), (far, far))
    top, left = corners[place]
    seen = images[:, top : top + crop, left : left + crop]
    return seen.flip(2) if mirrored else seen


def central(images: Tensor, crop: int) -> Tensor:
    """Return the middle of images [N, S, S, C], [N, crop, crop, C]."""
    return view(images, crop, "none", 0)


def to_bytes(images: Tensor, levels: int) -> Tensor:
    """Return images with values 0, ..., levels - 1 as bytes 0, ..., 255, to show and compare them."""
    return images if levels == 256 else (images.float() * (255 / (levels - 1))).round().to(torch.uint8)


def rows_of_splits(
    counts: Mapping[str, int],
    held_out: Mapping[str, int],
    most: Mapping[str, int | None],
    seed: int,
    where: str,
    held_from: str = "train",
) -> dict[str, tuple[str, Tensor]]:
    """Return for each split its source in `counts`, and the numbers of its images there, in random order.

    `held_out` says how many images of the split `held_from` go to each split that is not in `counts`. `most` limits the
    size of each split. Because of the random order, the first images are a sample of all.
    """
    if held_from not in counts:
        raise ImageError(f"{where}: has no {held_from} images of its own; set `validation_from: train`")
    held = sum(held_out.values())
    if held >= counts[held_from]:
        parts = " and ".join(f"{number:,} for {split}" for split, number in held_out.items())
        purpose = "to train on" if held_from == "train" else f"of the {held_from} split"
        raise ImageError(f"{where}: of {counts[held_from]:,} images {purpose}, {parts} leave none; hold out fewer")
    orders = {
        source: torch.randperm(count, generator=torch.Generator().manual_seed(derive_seed(seed, "images", source)))
        for source, count in counts.items()
    }
    found: dict[str, tuple[str, Tensor]] = {}
    start = 0
    for split, number in held_out.items():
        found[split] = (held_from, orders[held_from][start : start + number])
        start += number
    orders[held_from] = orders[held_from][start:]
    found |= {source: (source, order) for source, order in orders.items()}
    return {split: (found[split][0], found[split][1][: most.get(split)]) for split in SPLITS}


def split_images(
    name: str,
    options: Any,
    sets: Mapping[str, tuple[Tensor, Tensor]],
    seed: int,
    where: str,
    classes: tuple[str, ...],
    levels: int = 256,
    augmentation: Augmentation = "none",
    held_from: str = "train",
) -> ImageData:
    """Return the set of images `name` from images [N, S, S, C] and classes [N] in memory, as its options say.

    The options give the size of each split. A split that `sets` lacks is held out of the split `held_from`.
    """
    sizes = {split: getattr(options, split) for split in SPLITS}
    held_out = {split: size for split, size in sizes.items() if split not in sets}
    counts = {split: len(labels) for split, (_, labels) in sets.items()}
    rows = rows_of_splits(counts, held_out, sizes, seed, where, held_from)
    images = {split: sets[source][0][numbers] for split, (source, numbers) in rows.items()}
    labels = {split: sets[source][1][numbers].long() for split, (source, numbers) in rows.items()}
    origin = {"name": name} | options.model_dump(mode="json")
    return ImageData(images, labels, classes, levels, images["train"].shape[1], augmentation, origin)


def constant(value: T) -> Callable[[Any], T]:
    """Return a function of the options of a set of images that always gives the same value, such as the side."""
    return lambda options: value
