"""Which optimiser relaxes generated crystals with the least work, and where do they end?

The crystals are those of the demo's run `mask_cubic` if they are there, otherwise known ones, strained and disturbed.
All optimisers use the same calculator and cell, so only their steps differ.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.filters import FrechetCellFilter

from benchmarks.relaxation import disturbed
from benchmarks.timing import Comparison
from pipeline.crystals.alignment import same_crystal
from pipeline.crystals.cell_filter import CellFilter
from pipeline.crystals.comparing import reduced
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import NoNeighbours, atoms_of
from pipeline.crystals.energy_models.chgnet import load_chgnet
from pipeline.crystals.reduction import Cell
from pipeline.crystals.relaxation import descent
from pipeline.crystals.table import crystal_of, records_of
from pipeline.store.parquet import read_table

GENERATED = Path(__file__).parent.parent / "results/demo/crystals/materials/mask_cubic.parquet"
STEPS, FORCE = 500, 0.1
SAME, LOWEST = 0.005, -20.0  # eV/atom: the same minimum, and less than any crystal has
Way = Callable[[Atoms], tuple[FrechetCellFilter, Iterator[Any]]]


def answers(crystals: int = 8, names: tuple[str, ...] = ()) -> list[Comparison]:
    """Compare the named optimisers, or all, with plain FIRE: CPU time, convergence, and where both end."""
    calculator, starts, runs = load_chgnet(), some_crystals(crystals), dict[str, list[dict[str, Any]]]()
    for start in starts:
        for name, way in optimisers().items():
            if names and name not in ("FIRE", *names):
                continue
            runs.setdefault(name, []).append(relax_by(way, calculator, start))
    plain = runs.pop("FIRE")
    return [comparison(name, plain, rows) for name, rows in runs.items()]


def some_crystals(count: int) -> list[Crystal]:
    """Return the first generated crystals that have a cell, or disturbed known ones."""
    if not GENERATED.exists():
        return [disturbed(number) for number in range(count)]
    rows = records_of(read_table(GENERATED))
    return [crystal_of(row) for row in rows if row["reason"] == ""][:count]


def optimisers() -> dict[str, Way]:
    """Return a function for each optimiser that takes atoms and returns their cell and what takes the steps."""
    from ase.optimize import FIRE, FIRE2, LBFGS, BFGSLineSearch
    from ase.optimize.precon import Exp, PreconLBFGS

    def stepwise(method: Callable[..., Any], **options: Any) -> Way:
        def begin(atoms: Atoms) -> tuple[FrechetCellFilter, Iterator[Any]]:
            cell = CellFilter(atoms)
            return cell, method(cell, logfile=None, **options).irun(fmax=FORCE, steps=STEPS)

        return begin

    def preconditioned(atoms: Atoms) -> tuple[FrechetCellFilter, Iterator[Any]]:
        cell = FrechetCellFilter(atoms)  # of which this optimiser also reads the stress
        optimiser = PreconLBFGS(cell, precon=Exp(A=3), use_armijo=True, logfile=None)
        optimiser.smax = 0.0  # stop by the forces of all variables, as the others do
        return cell, optimiser.irun(fmax=FORCE, steps=STEPS)

    def ours(atoms: Atoms) -> tuple[FrechetCellFilter, Iterator[Any]]:
        cell = CellFilter(atoms)
        return cell, descent(cell, steps=STEPS, force=FORCE)

    return {
        "FIRE": stepwise(FIRE),
        "FIRE2": stepwise(FIRE2),
        "LBFGS": stepwise(LBFGS),
        "BFGS with line search": stepwise(BFGSLineSearch),
        "LBFGS, preconditioned": preconditioned,
        "FIRE, then BFGS (ours)": ours,
    }


def relax_by(way: Way, calculator: Any, crystal: Crystal) -> dict[str, Any]:
    """Relax a crystal; return CPU seconds, steps, energy in eV/atom, and whether it converged or why it failed."""
    begun, steps, failure, largest = time.process_time(), -1, "", np.inf
    atoms = atoms_of(crystal, calculator)
    try:
        cell, iterations = way(atoms)
        for _ in iterations:
            steps += 1
            largest = float(np.linalg.norm(cell.get_forces(), axis=1).max())
            if largest < FORCE or not np.isfinite(largest):
                break
    except (NoNeighbours, RuntimeError, ValueError, np.linalg.LinAlgError) as error:
        failure = f"{type(error).__name__}: {error}"
    energy = float(atoms.get_potential_energy()) / len(atoms) if np.isfinite(largest) and not failure else np.nan
    converged = largest < FORCE and energy > LOWEST
    row = {"seconds": time.process_time() - begun, "steps": max(steps, 0), "energy": energy, "failure": failure}
    return row | {"converged": converged, "end": end_of(atoms, crystal) if converged else None}


def end_of(atoms: Atoms, start: Crystal) -> Cell | None:
    """Return the reduced cell of relaxed atoms; None if it has none."""
    cell = atoms.cell
    return reduced(Crystal(start.id, cell.lengths(), cell.angles(), start.numbers, atoms.get_scaled_positions()))


def differ(pair: tuple[dict[str, Any], dict[str, Any]]) -> bool:
    """Return whether a crystal that was relaxed in two ways ended in different structures."""
    first, second = (row["end"] for row in pair)
    return first is None or second is None or not same_crystal(first, second)


def comparison(name: str, plain: list[dict[str, Any]], rows: list[dict[str, Any]]) -> Comparison:
    """Return how an optimiser compares with plain FIRE on the same crystals."""
    ratios = [old["seconds"] / new["seconds"] for old, new in zip(plain, rows, strict=True)]
    first, second = (sum(row["seconds"] for row in way) for way in (plain, rows))
    pairs = [(old, new) for old, new in zip(plain, rows, strict=True) if old["converged"] and new["converged"]]
    apart = np.array([new["energy"] - old["energy"] for old, new in pairs])
    both = f"{len(pairs)} both ways: {(np.abs(apart) <= SAME).sum()} within 5 meV/atom"
    elsewhere = sum(differ(pair) for pair, gap in zip(pairs, apart, strict=True) if abs(gap) > SAME)
    ends = f"{(apart < -SAME).sum()} lower, {(apart > SAME).sum()} higher, {elsewhere} of these in another structure"
    converged = f"{sum(row['converged'] for row in rows)} converge (FIRE: {sum(row['converged'] for row in plain)})"
    failed = f"{sum(bool(row['failure']) for row in rows)} fail"
    note = f"{converged}, {failed}; {both}, {ends}; {sum(row['steps'] for row in rows)} steps"
    case = f"{len(rows)} crystals"
    return Comparison(case, ("FIRE", name), first / second, min(ratios), max(ratios), (first, second), note)
