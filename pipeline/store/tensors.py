"""Safetensors files that say what they hold, and clear errors for damaged or misplaced ones.

The description is a single entry of the file's metadata. Safetensors writes several entries in an order that changes
from process to process, so equal content would not give equal files.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pipeline.errors import KinoflowError
from pipeline.store.atomic import replacing
from pipeline.store.mapped_files import mapped_tensors

_ENTRY = "kinoflow"


def metadata_of(kind: str, description: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of a file of some kind: tokens, samples or weights."""
    return {_ENTRY: json.dumps({"kind": kind, "description": description}, sort_keys=True)}


def write_tensors(path: Path, kind: str, tensors: dict[str, Tensor], description: Mapping[str, Any]) -> None:
    """Write tensors and their description."""
    with replacing(path) as temporary:
        save_file(
            {name: tensor.contiguous() for name, tensor in tensors.items()}, temporary, metadata_of(kind, description)
        )


def write_network(path: Path, kind: str, network: nn.Module, description: Mapping[str, Any]) -> None:
    """Write the weights of a network and their description; weights that layers share are written once.

    `safetensors.torch.load_model` reads them. Its `save_model` would list shared weights in further metadata entries.
    """
    own = {name for name, _ in (*network.named_parameters(), *network.named_buffers())}
    weights = {name: tensor for name, tensor in network.state_dict().items() if name in own}
    write_tensors(path, kind, weights, description)


def read_description(path: Path, kind: str) -> dict[str, Any]:
    """Return the description of a file, which must be of the given `kind`."""
    return _read(path, kind, with_tensors=False)[1]


def read_tensors(path: Path, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the mapped tensors of a file, and its description; the file must be of the given `kind`."""
    return _read(path, kind, with_tensors=True)


def _read(path: Path, kind: str, *, with_tensors: bool) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="numpy") as file:  # checks the header and the size of the file, maps nothing
            entry = json.loads((file.metadata() or {}).get(_ENTRY, "{}"))
        tensors = mapped_tensors(path) if with_tensors else {}
    except (SafetensorError, OSError, ValueError) as error:
        raise KinoflowError(
            f"{path}: cannot be read as a file of {kind} ({error}); remove it and make it again"
        ) from error
    if entry.get("kind") != kind:
        raise KinoflowError(f"{path}: holds {entry.get('kind', 'something else')}, not {kind}; give another file")
    description: dict[str, Any] = entry["description"]
    return tensors, description
