"""Read one picture: decode it, turn it upright, convert it to 8-bit grey or RGB, and crop it to a square."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from pipeline.errors import KinoflowError

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
_MODES = {1: "L", 3: "RGB"}


class ImageError(KinoflowError):
    """Images that cannot be used: a file, a folder or a whole set of them."""


def is_picture(name: str) -> bool:
    """Return whether a file is a picture, by its name; hidden files are not."""
    return name.lower().endswith(SUFFIXES) and not name.startswith(".")


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, sorted by name, without hidden ones."""
    for place, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(names) if not name.startswith("."))


def read_picture(source: Path | IO[bytes], channels: int = 3) -> tuple[Image.Image, str | None]:
    """Return a picture in 8-bit grey (1 channel) or RGB (3), and its original mode if it was converted.

    The error gives only the reason: the caller knows the file.
    """
    if isinstance(source, Path) and source.exists() and not source.is_file():
        raise ImageError("is no file")  # a pipe would never end
    try:
        with Image.open(source) as image:
            image.load()
            # An unreadable orientation is no reason to lose the picture.
            with suppress(Exception):
                ImageOps.exif_transpose(image, in_place=True)
            wanted = _MODES[channels]
            return (image, None) if image.mode == wanted else (_converted(image, wanted), image.mode)
    except ImageError:
        raise
    except Exception as error:  # decoders raise almost any error on damaged bytes
        message = str(error).strip().splitlines()
        raise ImageError(f"cannot be decoded ({message[0] if message else type(error).__name__})") from error


@dataclass(frozen=True)
class Framing:
    """How to cut a picture to its middle square of `side` pixels; both its sides must have `least` pixels."""

    side: int
    least: int
    channels: int

    def read(self, file: Path) -> tuple[NDArray[np.uint8], str | None]:
        """Return uint8[side, side, channels] from a file, and its original mode if it was converted."""
        image, mode = read_picture(file, self.channels)
        if min(image.size) < self.least:
            width, height = image.size
            raise ImageError(f"{width} x {height} pixels are less than {self.least} x {self.least}")
        return array_of(self.square(image)), mode

    def square(self, image: Image.Image) -> Image.Image:
        """Return the largest square in the middle of a picture, resized to `side`."""
        width, height = image.size
        short = min(width, height)
        if short == self.side:  # crop at whole pixels, so that no value changes
            left, top = (width - short) // 2, (height - short) // 2
            return image.crop((left, top, left + short, top + short))
        left_edge, top_edge = (width - short) / 2, (height - short) / 2
        box = (left_edge, top_edge, left_edge + short, top_edge + short)
        return image.resize((self.side, self.side), Image.Resampling.BICUBIC, box)


def array_of(image: Image.Image) -> NDArray[np.uint8]:
    """Return a picture, grey or RGB, as uint8[H, W, C]."""
    values = np.asarray(image, dtype=np.uint8)
    return values if values.ndim == 3 else values[:, :, None]


def _converted(image: Image.Image, mode: str) -> Image.Image:
    """Return a picture in another mode; transparent areas become white, and only the upper 8 of 16 bits are kept."""
    if image.mode.startswith("I;16"):
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    elif image.mode in ("I", "F"):
        raise ImageError(f"its numbers (mode {image.mode}) have no known range; save it with 8 bits a channel")
    elif image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    return image.convert(mode)
