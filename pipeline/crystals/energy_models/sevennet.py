"""SevenNet (Y. Park et al., J. Chem. Theory Comput. 20, 4857 (2024)), trained on MPtrj: 7net-l3i5 and 7net-0.

Its energies are PBE and PBE+U as they were computed, without corrections. The weights come with its package, as torch
files. SevenNet reads them with `weights_only=False`; here torch is made to read nothing but tensors, plain values and
arrays of numbers. Weights that its package would download cannot be chosen.
"""

from __future__ import annotations

import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from pipeline.config import Strict

if TYPE_CHECKING:  # importing torch and ase takes seconds, and most commands do not need them
    from ase.calculators.calculator import Calculator

CORRECTED = False
PACKAGE = "sevenn"
DEFAULT = "7net-l3i5"


class Options(Strict):
    """Which of the models in the package."""

    weights: Literal["7net-l3i5", "7net-0"] = Field(
        DEFAULT, description="weights of SevenNet; 7net-0 is faster and less accurate"
    )


def label(options: Options) -> str:
    """Return what the tables call the model."""
    return f"SevenNet {options.weights} ({PACKAGE} {version(PACKAGE)})"


def variant(options: Options) -> str:
    """Return the name of weights that are not the default."""
    return "" if options.weights == DEFAULT else options.weights.replace("-", "_")


def load(options: Options, device: str) -> Calculator:
    """Return SevenNet on a device of torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about accelerators for GPUs
        from sevenn.calculator import SevenNetCalculator

        from pipeline.crystals.checkpoints import only_weights
        from pipeline.crystals.guarded import Guarded

        with only_weights():
            inner = SevenNetCalculator(options.weights, device=device)
    for parameter in inner.model.parameters():
        parameter.requires_grad_(False)
    return Guarded(inner, cutoff=inner.cutoff, elements=inner.type_map)
