"""The registry of paths: builders that need no more than a vocabulary, so that the law tests can build every path."""

from collections.abc import Callable

from pipeline.flow.paths.base import Path
from pipeline.flow.registry import Registry

PATHS: Registry[Callable[..., Path]] = Registry("path")
