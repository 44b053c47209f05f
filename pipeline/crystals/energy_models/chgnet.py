"""CHGNet 0.3.0 (B. Deng et al., Nature Machine Intelligence 5, 1031 (2023)), trained on MPtrj.

Its energies are PBE and PBE+U with the corrections of 2020. The weights come with its package, as a torch file. CHGNet
reads it with `weights_only=False`; here torch is made to read nothing but tensors and plain values.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING

from pipeline.config import Strict

if TYPE_CHECKING:  # importing torch and ase takes seconds, and most commands do not need them
    from ase.calculators.calculator import Calculator

CORRECTED = True
SEVERAL = True
PACKAGE = "chgnet"


class Options(Strict):
    """None."""


def label(options: Options) -> str:
    """Return what the tables call the model."""
    return f"CHGNet {version(PACKAGE)}"


def load(options: Options, device: str) -> Calculator:
    """Return CHGNet on a device of torch."""
    return load_chgnet(device)


def load_chgnet(device: str = "cpu") -> Calculator:
    """Return CHGNet on a device of torch; on the CPU it gives the same numbers every time."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from chgnet.model.model import CHGNet

        from pipeline.crystals.checkpoints import only_weights
        from pipeline.crystals.chgnet import LeanChgnet

        with only_weights():
            calculator = LeanChgnet(CHGNet.load(use_device=device, verbose=False))
    for remark in ("No Pauling electronegativity", "Converting a tensor with requires_grad"):
        warnings.filterwarnings("ignore", message=remark)  # or every worker would print it
    return calculator
