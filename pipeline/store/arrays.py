"""Safetensors files that say what they hold, read without torch.

The description is a single entry of the file's metadata. Safetensors writes several entries in an order that changes
from process to process, so equal content would not give equal files.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from pipeline.errors import KinoflowError

Arrays = dict[str, NDArray[Any]]
_ENTRY = "kinoflow"


def metadata_of(kind: str, description: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of a file of some kind: tokens, samples or weights."""
    return {_ENTRY: json.dumps({"kind": kind, "description": description}, sort_keys=True)}


def read_description(path: Path, kind: str) -> dict[str, Any]:
    """Return the description of a file, which must be of the given `kind`."""
    return read_arrays(path, kind, names=())[1]


def read_arrays(path: Path, kind: str, names: Iterable[str] | None = None) -> tuple[Arrays, dict[str, Any]]:
    """Return some or all arrays of a file, and its description; the file must be of the given `kind`."""
    try:
        with safe_open(path, framework="numpy") as file:  # checks the header and the size of the file
            entry = json.loads((file.metadata() or {}).get(_ENTRY, "{}"))
            arrays = {name: file.get_tensor(name) for name in (file.keys() if names is None else names)}
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        raise KinoflowError(
            f"{path}: cannot be read as a file of {kind} ({error}); remove it and make it again"
        ) from error
    found = entry.get("kind", "something else") if isinstance(entry, dict) else "something else"
    if found != kind:
        raise KinoflowError(f"{path}: holds {found}, not {kind}; give another file")
    if not isinstance(entry.get("description"), dict):
        raise KinoflowError(f"{path}: does not describe its {kind}; remove it and make it again")
    return arrays, entry["description"]
