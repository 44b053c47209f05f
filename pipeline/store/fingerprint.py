"""Fingerprints of what unfinished work is made from: work with other settings, data or code cannot be resumed."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.store.provenance import known_hash, settings_hash


def fingerprint(settings: Mapping[str, Any], inputs: Iterable[Path], code: str) -> str:
    """Return a hash of the settings, the content of the input files and the hash of the code."""
    return settings_hash({"settings": settings, "inputs": [known_hash(path) for path in inputs], "code": code})
