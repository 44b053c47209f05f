"""Show images in a grid, and write them as PNG files and zip archives."""

import io
import zipfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from pipeline.images.picture import ImageError
from pipeline.store.atomic import replacing

ROWS, COLUMNS = 8, 8  # of a grid
MOST_COLUMNS = 10  # if each shows one class
SIDE = 64  # least pixels per side of a picture in a grid
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


def first_rows(count: int, labels: Tensor | None, columns: int, rows: int) -> Tensor:
    """Return the numbers of the pictures in a grid, [rows, columns]: the first ones, or of class c in column c.

    There are fewer rows if there are too few pictures, or too few of a class, but always at least one.
    """
    if labels is None:
        rows = max(1, min(rows, count // columns))
        return torch.arange(min(count, rows * columns)).view(rows, -1)
    found = [(labels == column).nonzero().squeeze(-1)[:rows] for column in range(columns)]
    least = min(map(len, found))
    if not least:  # a class has no picture, so columns cannot stand for classes
        return first_rows(count, None, columns, rows)
    return torch.stack([numbers[:least] for numbers in found], dim=1)


def shown_grid(images: Tensor, labels: Tensor | None, classes: int) -> NDArray[np.uint8]:
    """Return a grid of the first pictures; with `labels`, each column shows one of the first few classes."""
    columns = COLUMNS if labels is None else min(classes, MOST_COLUMNS)
    rows = first_rows(len(images), labels, columns, ROWS)
    scale = max(1, SIDE // images.shape[1])
    return grid_of(images[rows.flatten()], rows.shape[1], scale, gap=scale)


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


def _png(array: NDArray[np.uint8]) -> bytes:
    """Return the bytes of a PNG file of a picture uint8[H, W, C], grey or RGB."""
    content = io.BytesIO()
    Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array).save(content, "PNG")
    return content.getvalue()


def _check(images: Tensor) -> None:
    if images.dim() != 4 or images.dtype != torch.uint8 or not len(images) or images.shape[-1] not in (1, 3):
        raise ImageError(f"{images.dtype}{list(images.shape)}: give images uint8[N, H, W, C], at least one, C 1 or 3")
