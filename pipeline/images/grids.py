"""Write images as grids, PNG files and zip archives, and read any pictures for evaluation."""

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from pipeline.images.picture import SUFFIXES, ImageError, array_of, is_picture, read_picture
from pipeline.images.reading import Stack
from pipeline.store.atomic import replacing

_WHITE = 255
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date of an archive; fixed, so that equal images give equal bytes


def grid_of(images: Tensor, columns: int, scale: int = 1, gap: int = 1) -> NDArray[np.uint8]:
    """Return images uint8[N, H, W, C] in rows of `columns` as one picture uint8[..., ..., 3], with white gaps.

    Each pixel becomes a square of `scale` pixels. Missing images of the last row are white.
    """
    _check(images)
    if columns < 1 or scale < 1 or gap < 0:
        raise ImageError(f"columns {columns}, scale {scale}, gap {gap}: give at least 1, 1 and 0")
    count, height, width, _ = images.shape
    rows = -(-count // columns)
    tall, wide = height * scale, width * scale
    grid = np.full((rows * (tall + gap) - gap, columns * (wide + gap) - gap, 3), _WHITE, np.uint8)
    for number, image in enumerate(images):
        top, left = number // columns * (tall + gap), number % columns * (wide + gap)
        large = image.repeat_interleave(scale, 0).repeat_interleave(scale, 1)
        grid[top : top + tall, left : left + wide] = large.expand(-1, -1, 3).cpu().numpy()
    return grid


def write_png(path: Path, array: NDArray[np.uint8]) -> None:
    """Write a picture uint8[H, W, C], grey or RGB."""
    with replacing(path) as temporary:
        temporary.write_bytes(_png(array))


def write_png_archive(path: Path, images: Tensor) -> None:
    """Write a zip file of images uint8[N, H, W, C]: 00000.png, 00001.png, ...; equal images give equal bytes."""
    _check(images)
    digits = max(5, len(str(len(images) - 1)))
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:  # PNGs are compressed already
        for number, image in enumerate(images):
            member = zipfile.ZipInfo(f"{number:0{digits}}.png", _DATE)
            member.create_system, member.external_attr = 3, 0o644 << 16  # as on Unix, on any system
            archive.writestr(member, _png(image.cpu().numpy()))


def read_pictures(path: Path, folder: Path | None = None) -> Tensor:
    """Return the pictures below a folder or in a zip file, sorted by name, uint8[N, H, W, 3]; all must have one size.

    They are mapped from an unnamed file in `folder`, so they need not fit into memory.
    """
    size: tuple[int, int] | None = None
    first = ""
    with Stack(folder) as stack:
        for name, source in _pictures(path):
            try:
                picture, _ = read_picture(source)
            except ImageError as error:
                raise ImageError(f"{name}: {error}; mend or remove it") from error
            size, first = size or picture.size, first or name
            if picture.size != size:
                sizes = f"{picture.width} x {picture.height} pixels, but {first} has {size[0]} x {size[1]}"
                raise ImageError(f"{name}: {sizes}; give pictures of one size")
            stack.add(array_of(picture))
        if size is None:
            raise ImageError(f"{path}: holds no picture ({', '.join(SUFFIXES)}); give another folder or zip file")
        return stack.images()


def _pictures(path: Path) -> Iterator[tuple[str, Path | IO[bytes]]]:
    """Yield the name of each picture, for messages, and its path or content."""
    if path.is_dir():
        for place, inner, names in os.walk(path):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            yield from ((str(Path(place, name)), Path(place, name)) for name in sorted(names) if is_picture(name))
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if is_picture(name.rpartition("/")[2]):
                    yield f"{path}: {name}", io.BytesIO(_member(archive, name, path))
    except (OSError, zipfile.BadZipFile) as error:
        raise ImageError(f"{path}: is no folder and no zip file of pictures ({error}); check the path") from error


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    try:
        return archive.read(name)
    except Exception as error:  # damaged, encrypted, or compressed in a way that Python does not know
        raise ImageError(f"{path}: {name}: cannot be unpacked ({error}); make the archive again") from error


def _png(array: NDArray[np.uint8]) -> bytes:
    """Return the bytes of a PNG file of a picture uint8[H, W, C], grey or RGB."""
    content = io.BytesIO()
    Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array).save(content, "PNG")
    return content.getvalue()


def _check(images: Tensor) -> None:
    if images.dim() != 4 or images.dtype != torch.uint8 or not len(images) or images.shape[-1] not in (1, 3):
        raise ImageError(f"{images.dtype}{list(images.shape)}: give images uint8[N, H, W, C], at least one, C 1 or 3")
