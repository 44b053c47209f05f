"""Memory-mapped files, which may be larger than the memory.

Safetensors and numpy (`mode="c"`) map files privately. Linux reserves memory for a private map, and refuses one that is
larger than the memory. Here files are mapped without that reservation.
"""

import json
import mmap
import sys
from pathlib import Path

import torch
from torch import Tensor

_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)  # named since Python 3.13
_TYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "U16": torch.uint16,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "F32": torch.float32,
    "F64": torch.float64,
}


def map_file(file: int, size: int) -> mmap.mmap:
    """Map an open file copy-on-write: torch wants writable memory, and the file must not change."""
    return mmap.mmap(file, size, flags=mmap.MAP_PRIVATE | _NO_RESERVE, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def mapped_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file: 8 bytes with the header's length, a JSON header, then the tensors."""
    with path.open("rb") as stream:
        header_length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(header_length))
        start = 8 + header_length
        content = map_file(stream.fileno(), path.stat().st_size)
    tensors = {}
    for name, described in header.items():
        if name != "__metadata__":
            first, last = described["data_offsets"]
            dtype = _TYPES[described["dtype"]]
            flat = (
                torch.frombuffer(content, dtype=dtype, count=(last - first) // dtype.itemsize, offset=start + first)
                if last > first
                else torch.empty(0, dtype=dtype)
            )
            tensors[name] = flat.view(described["shape"])
    return tensors
