"""Collects images from many files into one, even if they do not fit into memory."""

import tempfile
from pathlib import Path
from types import TracebackType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.images.picture import ImageError
from pipeline.store.tensors import map_file


class Stack:
    """Images of one shape, added one by one to an unnamed file; nothing is left behind."""

    def __init__(self, folder: Path | None = None) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder or Path(tempfile.gettempdir())
        self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed by `__exit__`)
        self._shape: tuple[int, ...] = (0, 0, 0)
        self._count = 0

    def __enter__(self) -> "Stack":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, image: NDArray[np.uint8]) -> None:
        """Add an image uint8[H, W, C]."""
        assert not self._count or image.shape == self._shape
        try:
            self._file.write(np.ascontiguousarray(image).data)
        except OSError as error:
            raise self._full(error) from error
        self._shape, self._count = image.shape, self._count + 1

    def images(self) -> Tensor:
        """Return all images uint8[N, H, W, C], mapped; they outlive the stack."""
        if not self._count:
            return torch.empty(0, *self._shape, dtype=torch.uint8)
        try:
            self._file.flush()
        except OSError as error:
            raise self._full(error) from error
        size = self._count * int(np.prod(self._shape))
        flat = torch.frombuffer(map_file(self._file.fileno(), size), dtype=torch.uint8)
        return flat.view(self._count, *self._shape)

    def _full(self, error: OSError) -> ImageError:
        return ImageError(
            f"{self._folder}: cannot hold more than {self._count:,} images ({error}); make space, or give data.cache a "
            "folder that has it"
        )
