"""Fingerprints of what the unfinished work of a stage is made from: that of other settings, data or code is no use."""

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.store.code import files_of
from pipeline.store.provenance import known_hash, settings_hash


def fingerprint(settings: Mapping[str, Any], inputs: Iterable[Path], *modules: str) -> str:
    """Return a hash of settings, of the content of files, and of the code of modules and all that they import."""
    content = {"inputs": [known_hash(path) for path in inputs], "code": code_hash(*modules)}
    return settings_hash({"settings": settings} | content)


def code_hash(*modules: str) -> str:
    """Return a hash of what modules and all that they import do: comments and docstrings do not count."""
    code = hashlib.sha256()
    for file in files_of(*modules):
        code.update(_without_words(file.read_text("utf-8")) if file.suffix == ".py" else file.read_bytes())
    return code.hexdigest()


def _without_words(text: str) -> bytes:
    """Return a module without its comments and docstrings; those that share a line with code stay."""
    written = text.split("\n")
    lines: list[str | None] = [*written]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = written[row - 1][:column].rstrip() or None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first, last = node.body[0].lineno - 1, (node.body[0].end_lineno or 0) - 1
            head, tail = (lines[first] or "").lstrip(), lines[last] or ""
            if not head.startswith(("class ", "def ")) and tail.endswith(("'", '"')):
                lines[first : last + 1] = [None] * (last + 1 - first)
    return "\n".join(line for line in lines if line is not None).encode()
