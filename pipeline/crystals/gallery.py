"""Crystals to look at: each as a CIF file as generated and as relaxed, the way between, and what is known about it."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.crystals.crystal import fault_of_cell
from pipeline.crystals.elements import SYMBOLS
from pipeline.crystals.export import cif_text
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystal_of, records_of
from pipeline.crystals.trajectory import TRAJECTORY_COLUMNS
from pipeline.store.parquet import read_table

PER_RUN = 60
SAID = ("energy_above_hull", "verdict", "verdict_reason", "converged", "relax_reason", "unique", "novel", "rmsd")
DIGITS = 4  # of the steps of a relaxation


def gallery_of(
    crystals: Path, structures: Path | None, relaxed: Path | None, trajectories: Path | None = None
) -> list[dict[str, Any]]:
    """Return the crystals of a run that can be drawn, those of lowest energy above the hull first, then valid ones.

    `structures` is the table from `assess`, `relaxed` that of relaxed crystals, `trajectories` that of the steps of
    their relaxation; each may not be there yet.
    """
    known, after, steps = _by_id(structures), _by_id(relaxed), _steps_by_id(trajectories)
    found = []
    for row in records_of(read_table(crystals, CRYSTAL_COLUMNS)):
        if generated := "" if row["reason"] else _cif(row):
            entry = _entry(row, known.get(row["id"], {}))
            end = _cif(after.get(row["id"], {}))
            found.append(entry | {"generated": generated, "relaxed": end, "steps": steps.get(row["id"], [])})
    found.sort(key=lambda one: (_or_last(one["energy_above_hull"]), not one["valid"]))
    return found[:PER_RUN]


def _entry(row: Row, said: Row) -> dict[str, Any]:
    """Return what the page says about a crystal; what is not known is None."""
    entry = {name: _plain(said.get(name)) for name in SAID}
    group = said.get("space_group_relaxed") or said.get("space_group")
    return entry | {
        "id": row["id"],
        "formula": reduced(row["formula"]),
        "atoms": len(row["numbers"]),
        "elements": [SYMBOLS[number - 1] for number in row["numbers"]],
        "valid": bool(said.get("valid", False)),
        "space_group": int(group) if group else None,
    }


def reduced(formula: str) -> str:
    """Return a formula in its lowest terms.

    >>> reduced("Na4Cl8O4")
    'NaCl2O'
    """
    counts = {element: int(count) for element, count in re.findall(r"([A-Z][a-z]?)(\d+)", formula)}
    divisor = math.gcd(*counts.values())
    return "".join(f"{element}{count // divisor if count > divisor else ''}" for element, count in counts.items())


def _cif(row: Row) -> str:
    """Return the CIF file of a row in P 1, or nothing if it has no crystal that can be drawn."""
    crystal = crystal_of(row) if len(row.get("numbers", ())) else None
    if crystal is None or fault_of_cell(crystal.lengths, crystal.angles) or not np.isfinite(crystal.fractions).all():
        return ""
    return cif_text(crystal)


def _by_id(path: Path | None) -> dict[str, Row]:
    return {row["id"]: row for row in records_of(read_table(path))} if path else {}


def _steps_by_id(path: Path | None) -> dict[str, list[dict[str, Any]]]:
    """Return the steps of each relaxation, with few digits."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in records_of(read_table(path, TRAJECTORY_COLUMNS)) if path else ():
        found.setdefault(row["id"], []).append(_step(row))
    return found


def _step(row: Mapping[str, Any]) -> dict[str, Any]:
    cell = {name: _rounded(row[name]) for name in ("lengths", "angles", "fractions")}
    return {"step": int(row["step"]), "max_force": _plain(row["max_force"]), **cell}


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(float(value), DIGITS) for value in values]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; None for a number that is not known."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _or_last(energy: float | None) -> float:
    return math.inf if energy is None else energy
