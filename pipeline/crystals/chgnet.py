"""CHGNet, a network that predicts energies, forces and stresses as the Materials Project's DFT gives them.

B. Deng et al., Nature Machine Intelligence 5, 1031 (2023). Its weights come with its package.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import TYPE_CHECKING, Any

from pipeline.crystals.crystal import Crystal

if TYPE_CHECKING:  # importing torch and ase takes seconds, and most commands do not need them
    from ase import Atoms
    from ase.calculators.calculator import Calculator


def load_chgnet() -> Calculator:
    """Return CHGNet on the CPU, where it gives the same numbers every time."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from chgnet.model.dynamics import CHGNetCalculator
        from chgnet.model.model import CHGNet

        model = CHGNet.load(use_device="cpu", verbose=False)
        calculator: Any = CHGNetCalculator(model, use_device="cpu", on_isolated_atoms="error")
    for remark in ("No Pauling electronegativity", "Converting a tensor with requires_grad"):
        warnings.filterwarnings("ignore", message=remark)  # or every worker would print it
    return calculator


def atoms_of(crystal: Crystal, calculator: Calculator) -> Atoms:
    """Return a crystal as ase atoms with a calculator; raise a ValueError if its cell cannot exist."""
    from ase import Atoms

    matrix = crystal.structure().lattice.matrix
    return Atoms(crystal.numbers, scaled_positions=crystal.fractions, cell=matrix, pbc=True, calculator=calculator)


def static_energy(calculator: Calculator, crystal: Crystal) -> float:
    """Return the energy of a crystal without relaxation, in eV/atom."""
    return float(atoms_of(crystal, calculator).get_potential_energy()) / len(crystal.numbers)
