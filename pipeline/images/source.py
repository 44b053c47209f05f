"""Sets of images by name: which one an experiment chose, and what is known of it before it is read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config import Choice
from pipeline.config.chosen import chosen
from pipeline.config.plugins import IMAGE_SETS, files_needed
from pipeline.images.imagedata import ImageData


class ImageChoice(Choice):
    """A set of images: a file in `pipeline/images/sources`."""


@dataclass(frozen=True)
class ImageSource:
    """A set of images and its options."""

    name: str
    module: Any
    options: Any

    @classmethod
    def of(cls, choice: ImageChoice) -> "ImageSource":
        """Return the chosen set; a wrong name or option is a ValueError."""
        return cls(choice.name, *chosen(IMAGE_SETS, choice))

    @property
    def module_name(self) -> str:
        """The module that reads it."""
        return IMAGE_SETS.module(self.name)

    @property
    def levels(self) -> int:
        """How many values a pixel can have."""
        return int(self.module.levels(self.options))

    @property
    def files(self) -> list[str]:
        """The names in the catalogue of the files that it is read from."""
        return files_needed(self.module, self.options)

    @property
    def inputs(self) -> list[Path]:
        """The user's files that it is read from."""
        return list(self.module.inputs(self.options)) if hasattr(self.module, "inputs") else []

    def read(self, seed: int, cache: Path) -> ImageData:
        """Read the images."""
        data: ImageData = self.module.read(self.options, seed, cache)
        return data
