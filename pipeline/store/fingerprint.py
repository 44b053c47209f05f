"""Fingerprints of what unfinished work is made from: that of other settings, data or code is of no use."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.store.provenance import known_hash, settings_hash


def fingerprint(settings: Mapping[str, Any], inputs: Iterable[Path], code: str) -> str:
    """Return a hash of settings, of the content of files, and of the hash of the code."""
    return settings_hash({"settings": settings, "inputs": [known_hash(path) for path in inputs], "code": code})
