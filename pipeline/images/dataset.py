"""What all data sets of images share: the images behind the tokens, and where they come from."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from pipeline.config import NameAlone, NestedChoice, Strict
from pipeline.config.contracts import ImageSetPlugin
from pipeline.config.plugins import IMAGE_SETS, Chosen
from pipeline.images.imagedata import ImageData


class ImageChoice(NestedChoice):
    """A set of images: a file in `pipeline/images/sources`."""

    SOURCE = "pipeline.config.plugins.IMAGE_SETS"


class ImageSource(Chosen[ImageSetPlugin]):
    """A set of images with its options."""

    @property
    def levels(self) -> int:
        """How many values a pixel can have."""
        return self.plugin.levels(self.options)

    def read(self, seed: int, cache: Path) -> ImageData:
        """Read the images."""
        return self.plugin.read(self.options, seed, cache)


class ImageOptions(Strict):
    """Which images."""

    images: Annotated[ImageChoice, NameAlone] = Field(description="set of images, and its options")


def image_source(options: ImageOptions) -> ImageSource:
    """Return the set of images that the tokens are made from; a wrong name or option is a ValueError."""
    return ImageSource(**vars(IMAGE_SETS.chosen(options.images)))


def files(options: ImageOptions) -> list[str]:
    """Return the catalogue names of all files that are read."""
    return image_source(options).files


def inputs(options: ImageOptions) -> list[Path]:
    """Return the user's files that the images are read from."""
    return image_source(options).inputs


def modules(options: ImageOptions) -> list[str]:
    """Return the module of the set of images, which is loaded by name."""
    return image_source(options).modules
