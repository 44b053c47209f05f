"""Tensors in safetensors files that say what they hold, mapped into memory when they are read.

Safetensors and numpy (`mode="c"`) map files privately. Linux reserves memory for a private map, and refuses one that is
larger than the memory. Here files are mapped without that reservation.
"""

import json
import mmap
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from pipeline.errors import KinoflowError
from pipeline.store.arrays import metadata_of, read_description
from pipeline.store.atomic import replacing

_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)  # named since Python 3.13
_TYPES = {"BOOL": "?", "U8": "u1", "U16": "u2", "I16": "i2", "I32": "i4", "I64": "i8", "F32": "f4", "F64": "f8"}


def write_tensors(path: Path, kind: str, tensors: dict[str, Tensor], description: Mapping[str, Any]) -> None:
    """Write tensors and their description."""
    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        save_file(whole, temporary, metadata_of(kind, description))


def write_network(path: Path, kind: str, network: nn.Module, description: Mapping[str, Any]) -> None:
    """Write the weights of a network and their description; weights that layers share are written once.

    `safetensors.torch.load_model` reads them. Its `save_model` would list shared weights in further metadata entries.
    """
    own = {name for name, _ in (*network.named_parameters(), *network.named_buffers())}
    weights = {name: tensor for name, tensor in network.state_dict().items() if name in own}
    write_tensors(path, kind, weights, description)


def read_tensors(path: Path, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the mapped tensors of a file, and its description; the file must be of the given `kind`.

    It consists of 8 bytes with the length of its header, the header in JSON, and the tensors.
    """
    description = read_description(path, kind)  # checks the header and the size of the file
    with path.open("rb") as stream:
        start = 8 + int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(start - 8))
        content = map_file(stream.fileno(), path.stat().st_size)
    tensors = {}
    for name, described in header.items():
        if name != "__metadata__" and described["dtype"] not in _TYPES:
            raise KinoflowError(f"{path}: {name} has numbers of type {described['dtype']}; give another file")
        if name != "__metadata__":
            first, dtype = start + described["data_offsets"][0], _TYPES[described["dtype"]]
            tensors[name] = torch.from_numpy(np.ndarray(described["shape"], dtype, content, first))
    return tensors, description


def map_file(file: int, size: int) -> mmap.mmap:
    """Map an open file copy-on-write: torch wants writable memory, and the file must not change."""
    return mmap.mmap(file, size, flags=mmap.MAP_PRIVATE | _NO_RESERVE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
