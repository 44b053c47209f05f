"""How many more crystals are relaxed in a core-hour than with plain FIRE and CHGNet's own calculator?

The crystals are known ones, each strained and with its atoms moved at random.
"""

from typing import Any

import numpy as np

from benchmarks.timing import Comparison, compare
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import atoms_of
from pipeline.crystals.energy_models.chgnet import load_chgnet
from pipeline.crystals.relaxation import relax

KNOWN = (
    ("Pm-3m", [4.12] * 3, ["Cs", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]]),
    ("Pm-3m", [3.9] * 3, ["Sr", "Ti", "O"], [[0, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0]]),
    ("P4_2/mnm", [4.59, 4.59, 2.96], ["Ti", "O"], [[0, 0, 0], [0.305, 0.305, 0]]),
    ("Fm-3m", [5.64] * 3, ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]]),
    ("Fm-3m", [5.46] * 3, ["Ca", "F"], [[0, 0, 0], [0.25, 0.25, 0.25]]),
    ("F-43m", [5.65] * 3, ["Ga", "As"], [[0, 0, 0], [0.25, 0.25, 0.25]]),
)  # space group, lengths of a right-angled cell in A, elements and their first places: 2 to 12 atoms
STEPS, FORCE = 500, 0.1


def answers(crystals: int = 6, repeats: int = 2) -> list[Comparison]:
    """Compare both ways."""
    plain, lean = load_plain_chgnet(), load_chgnet()
    starts = [disturbed(number) for number in range(crystals)]
    before = [relax_plainly(plain, start, STEPS, FORCE) for start in starts]
    after = [relax(lean, start, steps=STEPS, force=FORCE) for start in starts]
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old["converged"] and new["converged"]]
    apart = [abs(new["energy_per_atom"] - old["energy_per_atom"]) * 1e3 for old, new in pairs] or [np.nan]
    return [
        compare(
            f"{crystals} crystals of 2 to 12 atoms",
            ("plain FIRE", lambda: [relax_plainly(plain, start, STEPS, FORCE) for start in starts]),
            ("ours", lambda: [relax(lean, start, steps=STEPS, force=FORCE) for start in starts]),
            repeats=repeats,
            note=f"{len(pairs)} of {crystals} converge both ways, their energies {np.mean(apart):.1f} meV/atom apart "
            f"(mean; largest {max(apart):.1f}); {_steps(before)} steps, ours {_steps(after)}",
        )
    ]


def disturbed(number: int) -> Crystal:
    """Return a known crystal in a cell that is strained by some 5 %, with its atoms moved by some 0.2 A."""
    from pymatgen.core import Lattice, Structure

    group, lengths, elements, places = KNOWN[number % len(KNOWN)]
    draw = np.random.default_rng(number)
    known = Structure.from_spacegroup(group, Lattice.orthorhombic(*lengths), elements, places)
    cell = known.lattice.matrix @ (np.eye(3) + 0.05 * draw.standard_normal((3, 3)))
    moved = known.frac_coords + 0.2 * draw.standard_normal((len(known), 3)) @ np.linalg.inv(cell)
    return Crystal.of(str(number), Structure(Lattice(cell), known.species, moved))


def load_plain_chgnet() -> Any:
    """Return CHGNet's own calculator."""
    from chgnet.model.dynamics import CHGNetCalculator
    from chgnet.model.model import CHGNet

    return CHGNetCalculator(CHGNet.load(use_device="cpu", verbose=False), use_device="cpu", on_isolated_atoms="error")


def relax_plainly(calculator: Any, crystal: Crystal, steps: int, force: float) -> dict[str, Any]:
    """Relax a crystal as this package once did: ase's FIRE and FrechetCellFilter from start to end."""
    from ase.filters import FrechetCellFilter
    from ase.optimize import FIRE

    atoms = atoms_of(crystal, calculator)
    optimiser = FIRE(FrechetCellFilter(atoms), logfile=None)
    converged = bool(optimiser.run(fmax=force, steps=steps))
    energy = float(atoms.get_potential_energy()) / len(atoms)
    return {"converged": converged, "energy_per_atom": energy, "steps": int(optimiser.nsteps)}


def _steps(rows: list[dict[str, Any]]) -> int:
    return sum(row["steps"] for row in rows)
