"""ImageNet as it is usually laid out: train/<class>/*.JPEG and val/<class>/*.JPEG; `val` is the test split."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from pipeline.images.imagedata import Augmentation
from pipeline.images.sources import folder
from pipeline.images.sources.folder import channels, class_count, inputs, levels, read, side

__all__ = ["Options", "channels", "class_count", "inputs", "levels", "read", "side"]


class Options(folder.Options):
    """Where ImageNet is; the rest is as for any folder, with what the paper takes as defaults."""

    NAME = "imagenet"
    SPLIT_FOLDERS: ClassVar[Mapping[str, str]] = {"train": "train", "val": "test"}

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
