"""The chosen set of images."""

from pathlib import Path
from typing import Self

from pipeline.config import NestedChoice
from pipeline.config.contracts import ImageSetPlugin
from pipeline.config.plugins import IMAGE_SETS, Chosen
from pipeline.images.imagedata import ImageData


class ImageChoice(NestedChoice):
    """A set of images: a file in `pipeline/images/sources`."""

    SOURCE = "pipeline.config.plugins.IMAGE_SETS"


class ImageSource(Chosen[ImageSetPlugin]):
    """A set of images with its options."""

    @classmethod
    def of(cls, choice: ImageChoice) -> Self:
        """Return the set that was chosen; a wrong name or option is a ValueError."""
        return cls(**vars(IMAGE_SETS.chosen(choice)))

    @property
    def levels(self) -> int:
        """How many values a pixel can have."""
        return self.plugin.levels(self.options)

    def read(self, seed: int, cache: Path) -> ImageData:
        """Read the images."""
        data: ImageData = self.plugin.read(self.options, seed, cache)
        return data
