"""ImageNet as it is usually laid out: train/<class>/*.JPEG and val/<class>/*.JPEG; `val` is the test split."""

from pathlib import Path

from pydantic import Field

from pipeline.images.imagedata import Augmentation, ImageData
from pipeline.images.sources import folder
from pipeline.images.sources.folder import channels, class_count, levels, side

__all__ = ["Options", "channels", "class_count", "inputs", "levels", "read", "side"]

SPLIT_FOLDERS = {"train": "train", "val": "test"}


class Options(folder.Options):
    """Where ImageNet is; the rest is as for any folder, with what the paper takes as defaults."""

    path: str = Field(min_length=1, description="folder with train/ and val/, each with a folder for each class")
    size: int = Field(256, ge=1, description="pixels along a side that networks see")
    margin: float = Field(
        1.1, ge=1, le=4, description="pictures are kept so many times larger, for crops: the middle of the shorter side"
    )
    augmentation: Augmentation = Field(
        "ten_crop",
        description="flip: train on mirrored pictures, too; ten_crop: on corners and the middle, mirrored, too",
    )
    held_out: float = Field(0.01, gt=0, le=1 / 3, description="share of the training pictures for the validation loss")
    enlarge: bool = Field(True, description="take pictures smaller than `size`, too, of which ImageNet has many")


def inputs(options: Options) -> list[Path]:
    """Return the class folders, or the path itself if there are none."""
    return folder.inputs(options, SPLIT_FOLDERS)


def read(options: Options, seed: int, cache: Path) -> ImageData:
    """Read the pictures; those for the validation loss are held out of the training pictures."""
    return folder.read(options, seed, cache, "imagenet", SPLIT_FOLDERS)
