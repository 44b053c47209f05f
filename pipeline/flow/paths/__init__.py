"""Probability paths by name: every module of this folder registers the paths that it defines."""

import importlib
import pkgutil
from typing import Any

from pipeline.flow.paths.base import Path
from pipeline.flow.paths.registry import PATHS, known_to
from pipeline.flow.vocabulary import Vocabulary

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def build_path(name: str, vocabulary: Vocabulary, **options: Any) -> Path:
    """Return the path registered under `name` over `vocabulary`; an option that it does not take is an error."""
    return PATHS.bind(name, **options)(vocabulary)


def example_path(name: str, vocabulary: Vocabulary, **options: Any) -> Path:
    """Return the path registered under `name` with example values for options that come from data."""
    return build_path(name, vocabulary, **(PATHS.example(name, vocabulary) | options))


__all__ = ["PATHS", "Path", "build_path", "example_path", "known_to"]
