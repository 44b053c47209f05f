"""MACE (I. Batatia et al., arXiv:2401.00096), from a file of the user; its package is not among our requirements.

Trained on MPtrj (MACE-MP-0) or on MPtrj and sAlex (MACE-MPA-0), its energies are PBE and PBE+U as they were computed,
without corrections. Models of other data (OMat24, MatPES, OFF) have other energies and must not be used here.

A file of MACE is a whole pickled network and cannot be read as weights alone: opening it runs the code in it. So it is
opened only if it has the SHA-256 that the user gives. Nothing is downloaded. MACE allows its process to unpickle
anything; this is taken back afterwards.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.store.provenance import file_hash

if TYPE_CHECKING:  # importing torch and ase takes seconds, and most commands do not need them
    from ase.calculators.calculator import Calculator

CORRECTED = False
PACKAGE = "mace-torch"
VERSIONS = ">=0.3.10,<0.4"


class Options(Strict):
    """The user's file."""

    path: str = Field(min_length=1, description="model file, such as mace-mpa-0-medium.model")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the file; opening the file runs code in it")


def label(options: Options) -> str:
    """Return what the tables call the model."""
    return f"MACE {Path(options.path).stem} ({PACKAGE} {version(PACKAGE)})"


def variant(options: Options) -> str:
    """Return the start of the file's checksum: any file may be named."""
    return options.sha256[:8]


def inputs(options: Options) -> list[Path]:
    """Return the user's file."""
    return [Path(options.path)]


def load(options: Options, device: str) -> Calculator:
    """Return MACE on a device of torch, in double precision, as its authors advise for relaxations."""
    path = Path(options.path)
    if not path.is_file():
        raise KinoflowError(f"energy model mace: {path}: no such file; correct `path`, or download the model to it")
    if (found := file_hash(path)) != options.sha256:
        raise KinoflowError(f"energy model mace: {path} has the SHA-256 {found}, not that of `sha256`; correct one")
    before = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    try:
        from mace.calculators import MACECalculator

        from pipeline.crystals.guarded import Guarded

        inner: Any = MACECalculator(model_paths=str(path), device=device, default_dtype="float64")
    finally:
        os.environ.pop("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", None)
        if before is not None:
            os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = before
    return Guarded(inner, cutoff=inner.r_max, elements=inner.z_table.zs)
