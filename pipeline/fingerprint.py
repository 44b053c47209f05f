"""Fingerprints of what the unfinished work of a stage is made from: that of other settings, data or code is no use."""

import ast
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.dependencies import files_of
from pipeline.provenance import known_hash, settings_hash


def fingerprint(settings: Mapping[str, Any], inputs: Iterable[Path], *modules: str) -> str:
    """Return a hash of settings, of the content of files, and of the code of modules and all that they import."""
    content = {"inputs": [known_hash(path) for path in inputs], "code": code_hash(*modules)}
    return settings_hash({"settings": settings} | content)


def code_hash(*modules: str) -> str:
    """Return a hash of what modules and all that they import do: comments, docstrings and layout do not count."""
    code = hashlib.sha256()
    for file in files_of(*modules):
        code.update(_without_words(file.read_text("utf-8")) if file.suffix == ".py" else file.read_bytes())
    return code.hexdigest()


def _without_words(text: str) -> bytes:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree).encode()
