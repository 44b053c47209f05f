"""What all data sets of images share: the images behind the tokens, and where they come from."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from pipeline.config import NameAlone, Strict
from pipeline.images.source import ImageChoice, ImageSource


class ImageOptions(Strict):
    """Which images."""

    images: Annotated[ImageChoice, NameAlone] = Field(description="set of images, and its options")


def image_source(options: ImageOptions) -> ImageSource:
    """Return the set of images that the tokens are made from."""
    return ImageSource.of(options.images)


def files(options: ImageOptions) -> list[str]:
    """Return the catalogue names of all files that are read."""
    return image_source(options).files


def inputs(options: ImageOptions) -> list[Path]:
    """Return the user's files that the images are read from."""
    return image_source(options).inputs


def modules(options: ImageOptions) -> list[str]:
    """Return the module of the set of images, which is loaded by name."""
    return image_source(options).modules
