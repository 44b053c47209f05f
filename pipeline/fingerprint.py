"""Fingerprints of what the unfinished work of a stage is made from: that of other settings, data or code is no use."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.dependencies import files_of
from pipeline.provenance import known_hash, settings_hash


def fingerprint(settings: Mapping[str, Any], inputs: Iterable[Path], *modules: str) -> str:
    """Return a hash of settings, of the content of files, and of the code of modules and all that they import."""
    code = hashlib.sha256()
    for file in files_of(*modules):
        code.update(file.read_bytes())
    content = {"inputs": [known_hash(path) for path in inputs], "code": code.hexdigest()}
    return settings_hash({"settings": settings} | content)
