"""The registry of paths: builders of a path over a vocabulary; the law tests build every one of them."""

from collections.abc import Callable

from pipeline.flow.paths.base import Path
from pipeline.flow.registry import Registry

PATHS: Registry[Callable[..., Path]] = Registry("path")
