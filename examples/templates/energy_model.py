"""A model of energies: that of Lennard-Jones. Copy to pipeline/crystals/energy_models/lennard_jones.py.

In the configuration: `crystals: {energy_model: {name: lennard_jones, epsilon: 0.1}}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from pipeline.config import Strict

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

CORRECTED = False  # its energies do not have the Materials Project's corrections
PACKAGE = "ase"  # what must be installed


class Options(Strict):
    """The numbers of the model."""

    epsilon: float = Field(0.01, gt=0, description="depth of the well, eV")
    sigma: float = Field(2.5, gt=0, description="distance at which the energy is zero, Angstrom")


def label(options: Options) -> str:
    """Return what the tables call the model."""
    return f"Lennard-Jones ({options.epsilon:g} eV, {options.sigma:g} A)"


def load(options: Options, device: str) -> Calculator:
    """Return a calculator of ase."""
    from ase.calculators.lj import LennardJones

    return LennardJones(epsilon=options.epsilon, sigma=options.sigma, rc=3 * options.sigma)
