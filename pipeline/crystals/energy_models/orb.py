"""Orb (B. Rhodes et al., arXiv:2504.06231), from a file of the user; its package is not among our requirements.

Only the models trained on MPtrj and Alexandria can be chosen: their energies are PBE and PBE+U as they were computed,
without corrections. Those of OMat24 and OMol have other energies. The package reads the file as weights alone and
would download what is not there; here the file must be there.
"""

from __future__ import annotations

import warnings
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from pipeline.config import Strict
from pipeline.errors import KinoflowError

if TYPE_CHECKING:  # importing torch and ase takes seconds, and most commands do not need them
    from ase.calculators.calculator import Calculator

CORRECTED = False
PACKAGE = "orb-models"
VERSIONS = ">=0.5,<0.6"  # 0.6 has another calculator
DEFAULT = "orb_v3_conservative_inf_mpa"
ELEMENTS = range(1, 119)  # it has an embedding for each


class Options(Strict):
    """Which model, and the user's file with its weights."""

    model: Literal["orb_v3_conservative_inf_mpa", "orb_v3_conservative_20_mpa", "orb_v2"] = Field(
        DEFAULT, description="function of orb_models.forcefield.pretrained that builds the model"
    )
    path: str = Field(
        min_length=1, description="file with its weights, such as orb-v3-conservative-inf-mpa-20250404.ckpt"
    )


def label(options: Options) -> str:
    """Return what the tables call the model."""
    return f"Orb {options.model.removeprefix('orb_')} ({PACKAGE} {version(PACKAGE)})"


def variant(options: Options) -> str:
    """Return the name of a model that is not the default."""
    return "" if options.model == DEFAULT else options.model.removeprefix("orb_")


def inputs(options: Options) -> list[Path]:
    """Return the user's file."""
    return [Path(options.path)]


def load(options: Options, device: str) -> Calculator:
    """Return Orb on a device of torch, not compiled, in full single precision."""
    path = Path(options.path)
    if not path.is_file():
        raise KinoflowError(f"energy model orb: {path}: no such file; correct `path`, or download the weights to it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about precision
        from orb_models.forcefield import pretrained
        from orb_models.forcefield.calculator import ORBCalculator

        from pipeline.crystals.checkpoints import only_weights
        from pipeline.crystals.guarded import Guarded

        build: Any = getattr(pretrained, options.model)
        with only_weights():
            network = build(weights_path=str(path), device=device, precision="float32-highest", compile=False)
    return Guarded(ORBCalculator(network, device=device), cutoff=network.system_config.radius, elements=ELEMENTS)
