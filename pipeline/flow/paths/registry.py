"""The registry of paths. An entry builds a path over a vocabulary; the law tests build every one of them."""

from collections.abc import Callable
from typing import Any

from pipeline.flow.paths.base import Path
from pipeline.flow.registry import Registry

PATHS: Registry[Callable[..., Path]] = Registry("path")


def known_to(name: str, known: dict[str, Any]) -> dict[str, Any]:
    """Return the part of what is `known` of the data that the path `name` takes, such as counts of tokens."""
    return {key: value for key, value in known.items() if key in PATHS.options(name)}
