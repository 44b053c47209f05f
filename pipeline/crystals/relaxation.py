"""Relaxation: the atoms and the cell follow the forces and stresses of an energy model down to a minimum."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.config import Relaxation
from pipeline.crystals.crystal import Crystal, Floats
from pipeline.crystals.energies import NoNeighbours, UnknownElements, atoms_of
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.explosions import absurdity, explosion, wrong_density
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystal_of, frame_of, records_of, rejected_row, row_of
from pipeline.crystals.trajectory import TRAJECTORY_COLUMNS, Trajectory, steps_in
from pipeline.crystals.workers import run_tasks
from pipeline.store.code import code_hash
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import settings_hash, write_provenance
from pipeline.store.shards import part_of

if TYPE_CHECKING:  # importing ase takes a second, and most commands do not need it
    from ase.calculators.calculator import Calculator

    from pipeline.crystals.cell_filter import CellFilter

MEASURES = ("energy_per_atom", "max_force", "rmsd")
RELAXED_COLUMNS = {"id": "str", "reason": "str", "converged": "bool", "steps": "int64"}
RELAXED_COLUMNS |= dict.fromkeys(MEASURES, "float64") | CRYSTAL_COLUMNS
STEP_LIMIT = "step limit"
NEAR = 1.0  # eV/A; below this largest force, a crystal is near its minimum
STIFFNESS = 30.0  # eV/A^2; ase's default is 70, and takes shorter steps


def relax_table(
    settings: Relaxation,
    seed: int,
    *,
    model: EnergyModel,
    crystals: Path,
    shard: int = 0,
    shards: int = 1,
    journal: Path,
    output: Path,
    trajectories: Path | None = None,
    gpus: int = 0,
    keep_journal: bool = False,
) -> None:
    """Relax one shard of the first crystals of a table; the journal's folder has those that are already done.

    The journal is removed at the end unless it is to be kept for another call. The seed is for provenance only.
    `trajectories` gets a few steps of each relaxation.
    """
    device = "cuda" if gpus else "cpu"
    rows = records_of(read_table(crystals, CRYSTAL_COLUMNS)[list(CRYSTAL_COLUMNS)])[: settings.count]
    rows = [rows[position] for position in part_of(len(rows), shard, shards)]
    what = settings.model_dump(mode="json", include={"count", "steps", "force", "patience", "seconds", "batch"})
    depends_on = {
        "settings": what,
        "model": model.fingerprint,
        "device": device,
        "code": code_hash("pipeline.crystals.relaxation"),
        "rows": [{name: np.asarray(value).tolist() for name, value in row.items()} for row in rows],
    }
    kept = Journal(journal, settings_hash(depends_on))  # one of anything else is of no use
    usable = [row for row in rows if row["reason"] == ""]
    usable.sort(key=lambda row: -len(row["numbers"]))  # the largest first, so that all workers end together
    how: dict[str, Any] = {
        "model": model,
        "steps": settings.steps,
        "force": settings.force,
        "patience": settings.patience,
    }
    tasks = partial(
        run_tasks,
        partial(relax_several, **how),
        workers=settings.workers,
        initialise=partial(_initialise, model, device),
    )
    batch, done = settings.batch, dict[str, Row]()
    parts = [usable[start : start + batch] for start in range(0, len(usable), batch)]
    seconds, label = settings.seconds * batch, "relaxing"
    for number, outcome in tasks([crystals_in(part) for part in parts], seconds=seconds, label=label, finished=kept):
        if outcome.value is not None:
            done |= {row["id"]: row for row in outcome.value}
        elif batch == 1:
            (row,) = parts[number]
            done[row["id"]] = lost(row["id"], outcome.reason)
    if alone := [row for row in usable if row["id"] not in done]:  # one bad crystal must not lose the rest of its batch
        each = [crystals_in([row]) for row in alone]
        for number, outcome in tasks(each, seconds=settings.seconds, label="relaxing alone"):
            id = alone[number]["id"]
            done[id] = outcome.value[0] if outcome.value is not None else lost(id, outcome.reason)
    relaxed = [lost(row["id"], f"not a crystal: {row['reason']}") if row["reason"] else done[row["id"]] for row in rows]
    write_table(output, frame_of(relaxed, RELAXED_COLUMNS))
    if trajectories:
        write_table(trajectories, frame_of(steps_in(relaxed), TRAJECTORY_COLUMNS))
    written = [output, *([trajectories] if trajectories else [])]
    write_provenance(written, {"relaxation": what, "energy_model": model.label}, seed, [crystals])
    print(f"{summary(relaxed)}, by {model.label}")
    if not keep_journal:
        kept.remove()


def crystals_in(rows: Sequence[Row]) -> list[Crystal]:
    """Return the crystals of rows that have one."""
    return [crystal for row in rows if (crystal := crystal_of(row)) is not None]


def relax_several(calculator: Any, crystals: Sequence[Crystal], **how: Any) -> list[Row]:
    """Return the rows of some crystals; if there are several, their energies are computed together."""
    if len(crystals) == 1:
        return [relax(calculator, crystals[0], **how)]
    from pipeline.crystals.together import run_together  # imports ase

    return run_together(partial(relax, **how), crystals, calculator.compute)


def summary(rows: Sequence[Row]) -> str:
    """Return how many crystals converged, and how many did not for each kind of reason."""
    reasons = Counter(row["reason"].partition(":")[0] for row in rows if row["reason"])
    counts = [f"{sum(row['reason'] == '' for row in rows)} converged"]
    counts += [f"{count} {reason}" for reason, count in reasons.most_common()]
    return f"relaxed {len(rows)} crystals: {', '.join(counts)}"


def relax(
    calculator: Calculator,
    crystal: Crystal,
    *,
    model: EnergyModel | None = None,
    steps: int,
    force: float,
    patience: int | None = None,
) -> Row:
    """Relax a crystal, and return a row with RELAXED_COLUMNS: the relaxed crystal, or the reason why there is none.

    A relaxed crystal comes with its `trajectory`, a few of its steps.

    Its energy gets the corrections of 2020 if those of the model lack them. Without a model, it is taken as it is.

    It has converged when the largest force, on an atom or on the cell as ase's FrechetCellFilter measures it, is below
    `force` (eV/A). This largest force is the row's `max_force`. With `patience`, a crystal is given up after that many
    steps in a row without a new least `max_force`. Every run gives the same result if the calculator does.
    """
    from pipeline.crystals.cell_filter import CellFilter

    try:
        atoms = atoms_of(crystal, calculator)
    except ValueError as error:
        return lost(crystal.id, f"exploded: {error}")
    if why := wrong_density(atoms):
        return lost(crystal.id, why)
    volume, cell = atoms.get_volume(), CellFilter(atoms)
    done, best, least, largest, trajectory = 0, 0, math.inf, math.inf, Trajectory()
    try:
        for done in descent(cell, steps=steps, force=force):
            if why := explosion(atoms, volume):
                return lost(crystal.id, why, done)
            largest = float(np.linalg.norm(cell.get_forces(), axis=1).max())
            trajectory.add(done, largest, atoms)
            if largest < least:
                best, least = done, largest
            elif patience and done - best >= patience:
                break
    except NoNeighbours:
        return lost(crystal.id, "exploded: atoms without neighbours", done)
    except UnknownElements as error:
        return lost(crystal.id, str(error), done)
    lengths, angles, fractions = atoms.cell.lengths(), atoms.cell.angles(), atoms.get_scaled_positions(wrap=True)
    end = Crystal(crystal.id, lengths, angles, crystal.numbers, fractions)
    energy, why = float(atoms.get_potential_energy()) / len(atoms), ""
    if model:
        energy, why = model.energy(end, energy)
    if why := why or absurdity(atoms, energy):
        return lost(crystal.id, why, done)
    reason = STEP_LIMIT if done >= steps else f"given up: no smaller force in {patience} steps"
    return row_of(
        end,
        reason="" if largest < force else reason,
        converged=largest < force,
        steps=done,
        energy_per_atom=energy,
        max_force=largest,
        rmsd=displacement(crystal, end),
        trajectory=trajectory.kept(end.fractions),
    )


def descent(cell: CellFilter, *, steps: int, force: float) -> Iterator[int]:
    """Yield the number of steps taken, from 0 on, until the largest force is below `force` or `steps` are taken.

    FIRE brings a crystal near a minimum, and BFGS from there to it in fewer steps. BFGS alone would take fewer still,
    but from afar it often ends in another minimum than FIRE does, higher or lower.
    """
    from ase.optimize import BFGS, FIRE

    near_then_there: tuple[tuple[Callable[..., Any], float], ...] = (
        (FIRE, max(force, NEAR)),
        (partial(BFGS, alpha=STIFFNESS), force),
    )
    done = 0
    for method, goal in near_then_there:
        optimiser = method(cell, logfile=None)
        for _ in optimiser.irun(fmax=goal, steps=steps - done):
            yield done + int(optimiser.nsteps)
        done += int(optimiser.nsteps)


def lost(id: str, reason: str, steps: int = 0) -> Row:
    """Return the row of a crystal that has no relaxed structure."""
    return rejected_row(id, reason, converged=False, steps=steps, **dict.fromkeys(MEASURES, math.nan))


def displacement(start: Crystal, end: Crystal) -> float:
    """Return the root mean square, in A, of how far the atoms moved, without the change of the cell.

    sqrt(mean_i |L (d_i - mean_j d_j)|^2) with the displacements d in fractions, each to the nearest image, and the mean
    L of the two cells (in the same orientation). A drift of all atoms counts as no move.
    """
    cells: Floats = np.mean([np.asarray(crystal.structure().lattice.matrix) for crystal in (start, end)], axis=0)
    moved = end.fractions - start.fractions
    moved -= moved[0]  # so that no drift puts some atoms on one side of a cell and some on the other
    moved -= np.round(moved)
    moved -= moved.mean(axis=0)
    return float(np.sqrt(((moved @ cells) ** 2).sum(axis=1).mean()))


def _initialise(model: EnergyModel, device: str) -> Any:
    """Return the calculator of a worker; import what relaxation needs, or the first crystal's time would include it."""
    for module in ("pymatgen.core", "ase.optimize", "pipeline.crystals.cell_filter"):
        import_module(module)
    return model.load(device)
