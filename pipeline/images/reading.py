"""Read many pictures with several threads into one file, as they may not fit into memory; some may be unusable."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.images.picture import Framing, ImageError
from pipeline.store.progress import Progress
from pipeline.store.tensors import map_file

LISTED = 1000  # most rejected files named in a record
_SHOWN = 3  # most rejected files named in an error
_TOGETHER = 512  # files given to the threads at once


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

    def __exit__(self, *error: object) -> None:
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


class PictureReader:
    """Reads pictures below a folder into squares of one size, and remembers what was rejected and converted."""

    def __init__(self, root: Path, framing: Framing, *, workers: int, allowed: int) -> None:
        self._root, self._framing, self._workers, self._allowed = root, framing, workers, allowed
        self._rejected: list[dict[str, str]] = []
        self._converted: Counter[str] = Counter()

    def read(self, split: str, files: Sequence[tuple[str, int]], cache: Path) -> tuple[Tensor, Tensor]:
        """Return the images uint8[N, S, S, C] of a split, mapped from a file in `cache`, and their classes [N]."""
        labels: list[int] = []
        # Decoding and resizing release Python's lock, so threads suffice, and nothing is copied between processes.
        with (
            Stack(cache) as stack,
            ThreadPoolExecutor(self._workers) as pool,
            Progress(f"reading images to {split}", len(files), unit="image") as progress,
        ):
            for start in range(0, len(files), _TOGETHER):
                part = files[start : start + _TOGETHER]
                for (name, label), found in zip(part, pool.map(self._outcome, part), strict=True):
                    if isinstance(found, ImageError):
                        self._reject(name, str(found))
                        continue
                    image, mode = found
                    stack.add(image)
                    labels.append(label)
                    self._converted.update([mode] if mode else [])
                progress.advance(start + len(part))
            return stack.images(), torch.tensor(labels, dtype=torch.int64)

    def record(self) -> dict[str, Any]:
        """Return what was rejected, and from which modes pictures were converted, as JSON."""
        return {
            "converted": dict(sorted(self._converted.items())),
            "rejected_images": len(self._rejected),
            "rejected": self._rejected[:LISTED],
        }

    def _outcome(self, file: tuple[str, int]) -> tuple[NDArray[np.uint8], str | None] | ImageError:
        """Return an image and its mode if it was converted, or why it is rejected."""
        try:
            return self._framing.read(self._root / file[0])
        except ImageError as error:
            return error

    def _reject(self, name: str, reason: str) -> None:
        self._rejected.append({"file": name, "reason": reason})
        if len(self._rejected) > self._allowed:
            shown = "; ".join(f"{one['file']}: {one['reason']}" for one in self._rejected[:_SHOWN])
            count = len(self._rejected)
            raise ImageError(
                f"{self._root}: {count} {'picture' if count == 1 else 'pictures'} cannot be used, and {self._allowed} "
                f"may be rejected ({shown}); mend or remove them, raise `tolerated`, or set `enlarge` if they are small"
            )
