"""Schemes by name: what a step does with the model. Which x1 are drawn, how often the model is asked, who jumps.

To add a scheme, register a function that builds it, in a new file of this folder.
"""

import importlib
import pkgutil
from typing import Any

from pipeline.flow.schemes.base import Scheme, Walk
from pipeline.flow.schemes.registry import SCHEMES

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def build_scheme(name: str, **options: Any) -> Scheme:
    """Return the scheme registered under `name`; an option that it does not take is an error.

    >>> build_scheme("theta_trapezoidal", theta=0.4).evaluations
    2
    """
    scheme: Scheme = SCHEMES.bind(name, **options)()
    return scheme


__all__ = ["SCHEMES", "Scheme", "Walk", "build_scheme"]
