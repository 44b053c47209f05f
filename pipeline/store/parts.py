"""Files of whole numbers that are written and joined part by part, so that memory does not grow with their size.

They are safetensors files, byte for byte as that library writes them, with int32 arrays only.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from pipeline.store.arrays import metadata_of
from pipeline.store.atomic import replacing

_BYTES = 4  # of a number
_AT_ONCE = 2**20  # bytes that are copied together

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class PartFile:
    """An open file of arrays with given shapes; `axes` says along which axis each array comes in parts."""

    stream: IO[bytes]
    shapes: Shapes
    axes: Mapping[str, int]
    starts: Mapping[str, int]

    def write(self, name: str, first: int, values: NDArray[Any]) -> None:
        """Write the rows of an array from number `first` on."""
        content = values.astype("<i4", copy=False).tobytes()
        for number, (place, size) in enumerate(self.pieces(name, first, values.shape[self.axes[name]])):
            self.stream.seek(place)
            self.stream.write(content[number * size : (number + 1) * size])

    def pieces(self, name: str, first: int, count: int) -> Iterator[tuple[int, int]]:
        """Yield where rows of an array lie in the file, and their bytes: one piece for each entry of earlier axes."""
        shape, axis = self.shapes[name], self.axes[name]
        row = math.prod(shape[axis + 1 :]) * _BYTES
        for outer in range(math.prod(shape[:axis])):
            yield self.starts[name] + (outer * shape[axis] + first) * row, count * row


@contextmanager
def writing(
    path: Path, kind: str, shapes: Shapes, axes: Mapping[str, int], description: Mapping[str, Any]
) -> Iterator[PartFile]:
    """Yield a file to write parts to; it gets its name once the block is done. Numbers that are not written are 0."""
    header, starts, end = _header(shapes, metadata_of(kind, description))
    with replacing(path) as temporary, temporary.open("wb") as stream:
        stream.write(header)
        stream.truncate(end)
        yield PartFile(stream, shapes, axes, starts)


@contextmanager
def reading(path: Path, axes: Mapping[str, int]) -> Iterator[PartFile]:
    """Yield a file of this kind to read parts of."""
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size))
        described = {name: entry for name, entry in header.items() if name != "__metadata__"}
        shapes = {name: tuple(entry["shape"]) for name, entry in described.items()}
        starts = {name: 8 + size + entry["data_offsets"][0] for name, entry in described.items()}
        yield PartFile(stream, shapes, axes, starts)


def copy_rows(source: PartFile, target: PartFile, name: str, first: int) -> None:
    """Copy all rows of an array to those from number `first` on."""
    count = source.shapes[name][source.axes[name]]
    places = zip(source.pieces(name, 0, count), target.pieces(name, first, count), strict=True)
    for (start, size), (place, _) in places:
        source.stream.seek(start)
        target.stream.seek(place)
        for done in range(0, size, _AT_ONCE):
            target.stream.write(source.stream.read(min(_AT_ONCE, size - done)))


def _header(shapes: Shapes, metadata: Mapping[str, str]) -> tuple[bytes, dict[str, int], int]:
    """Return the first bytes of a file, where each array starts, and where the last one ends."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    offset, offsets = 0, dict[str, int]()
    for name in sorted(shapes):
        offsets[name], size = offset, math.prod(shapes[name]) * _BYTES
        entries[name] = {"dtype": "I32", "shape": list(shapes[name]), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    begin = 8 + len(text)
    return len(text).to_bytes(8, "little") + text, {name: begin + at for name, at in offsets.items()}, begin + offset
