"""The atoms and the cell of a crystal as one set of variables for ase's optimisers."""

from typing import Any

import numpy as np
from ase import Atoms
from ase.filters import FrechetCellFilter
from scipy.linalg import expm_frechet

from pipeline.crystals.crystal import Floats


class CellFilter(FrechetCellFilter):
    """ase's FrechetCellFilter, with the same variables and forces for a fraction of the time.

    An optimiser asks for both several times a step. Each time ase computes logarithms of the cell's deformation and
    nine derivatives of its exponential. Here both are kept until the atoms move. The logarithm is what the optimiser
    has set. One derivative is enough: the gradient of f(exp A) by A is D exp(A^T)[G], with the gradient G of f.
    """

    def __init__(self, atoms: Atoms) -> None:
        super().__init__(atoms)
        self._variables: Floats = super().get_positions()
        self._forces: Floats | None = None

    def get_positions(self) -> Floats:
        """Return the positions in the first cell, and the scaled logarithm of the cell's deformation, [a + 3, 3]."""
        return self._variables.copy()

    def set_positions(self, new: Floats, **settings: Any) -> None:  # type: ignore[override]  # ase has two names for new
        """Move the atoms and the cell."""
        super().set_positions(new, **settings)
        self._variables, self._forces = new.copy(), None

    def get_forces(self, **settings: Any) -> Floats:
        """Return the forces on the atoms and on the cell, [a + 3, 3]."""
        if self._forces is None:
            deformation = self.deform_grad()
            virial = -self.atoms.get_volume() * self.atoms.get_stress(voigt=False)
            logarithm = self._variables[-3:] / self.exp_cell_factor - np.log(self.cell_factor) * np.eye(3)
            by_deformation = virial @ np.linalg.inv(deformation).T
            if np.isfinite(by_deformation).all():  # scipy refuses others
                by_deformation = expm_frechet(logarithm.T, by_deformation, compute_expm=False)
            on_cell = by_deformation / self.exp_cell_factor
            self._forces = np.vstack([self.atoms.get_forces(**settings) @ deformation, on_cell])
        return self._forces.copy()
