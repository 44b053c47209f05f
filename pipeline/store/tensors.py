"""Tensors in safetensors files that say what they hold, mapped into memory when they are read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from pipeline.store.arrays import metadata_of, read_description, unreadable
from pipeline.store.atomic import replacing
from pipeline.store.mapped_files import mapped_tensors


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


def read_tensors(path: Path, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the mapped tensors of a file, and its description; the file must be of the given `kind`."""
    description = read_description(path, kind)
    try:
        return mapped_tensors(path), description
    except (OSError, ValueError) as error:
        raise unreadable(path, kind, error) from error
