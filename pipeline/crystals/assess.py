"""The stage that puts together what is known about each structure: validity, energies, stability, novelty."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import METASTABLE, formation_energy
from pipeline.crystals.hull import Hull
from pipeline.crystals.matching import first_places, kinds_of, match_crystals
from pipeline.crystals.table import Row, crystal_of, records_of
from pipeline.errors import KinoflowError
from pipeline.store.atomic import replacing
from pipeline.store.journal import Journal

DESCRIBED = ("structural_valid", "composition_valid", "composition_valid_default")
RELAXED = ("id", "reason", "converged", "steps", "energy_per_atom", "lengths", "angles", "numbers", "fractions")
ENERGIES = ("energy_per_atom", "formation_energy", "hull_energy", "energy_above_hull")
COLUMNS = {
    **dict.fromkeys(("id", "reason", "formula"), "str"),
    **dict.fromkeys(("atoms", "elements"), "int64"),
    "density": "float64",
    **dict.fromkeys((*DESCRIBED, "attempted", "relaxed", "converged"), "bool"),
    "relax_reason": "str",
    "steps": "int64",
    **dict.fromkeys(ENERGIES, "float64"),
    "hull_reason": "str",
    **dict.fromkeys(("stable", "metastable", "unique", "novel", "sun"), "bool"),
    **dict.fromkeys(("kind", "match_reason"), "str"),
}
OF_HULL = ("hull_energy", "energy_above_hull", "stable", "metastable", "sun")
OF_TRAIN = ("novel", "sun")


def assess_rows(
    described: pd.DataFrame,
    relaxed: pd.DataFrame,
    hull: Hull | None,
    train: Sequence[Crystal] | None,
    *,
    workers: int,
    seconds: float,
    finished: Journal | None = None,
) -> pd.DataFrame:
    """Return the columns of :data:`COLUMNS`, but no stability without a hull, and no novelty without a training set.

    Uniqueness and novelty are those of the relaxed structure if its relaxation converged, otherwise of the generated
    one. A structure that is invalid, or that could not be matched in time, is neither, and others like it may still be.
    S.U.N. structures are the first of each kind among the stable and novel ones, whatever unstable one is like them.
    What cannot be used is `attempted` if it was to be relaxed, but never `relaxed`. Comparisons in the journal of
    `finished` ones are not made again.
    """
    for name, frame in (("structures", described), ("relaxed structures", relaxed)):
        if (twice := frame["id"].duplicated()).any():
            raise KinoflowError(f"{name}: the id {frame['id'][twice].iloc[0]!r} is there twice; give each its own")
    attempts = {row["id"]: row for row in records_of(relaxed)}
    if unknown := sorted(set(attempts) - set(described["id"])):
        raise KinoflowError(f"relaxed structures of another run, such as {unknown[0]!r}; relax those of this one")
    rows, crystals = [], []
    for row in records_of(described):
        attempt = attempts.get(row["id"])
        usable = bool(row["structural_valid"]) and not row["reason"]
        crystals.append(crystal_of(attempt if attempt and attempt["converged"] else row) if usable else None)
        rows.append({name: row[name] for name in COLUMNS if name in row} | _energies(attempt, hull))
        rows[-1]["relaxed"] = attempt is not None and not row["reason"]
    matches = match_crystals(crystals, train or [], workers=workers, seconds=seconds, finished=finished)
    kinds = kinds_of(matches, range(len(rows)))
    sun = first_places(matches, [place for place, row in enumerate(rows) if row["stable"] and matches[place].novel])
    for place, (row, match) in enumerate(zip(rows, matches, strict=True)):
        row |= {"unique": kinds.get(place) == place, "kind": rows[kinds[place]]["id"] if place in kinds else ""}
        row |= {"novel": match.novel, "sun": place in sun, "match_reason": match.reason}
    left_out = {*(OF_HULL if hull is None else ()), *(OF_TRAIN if train is None else ())}
    columns = {name: kind for name, kind in COLUMNS.items() if name not in left_out}
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame of scalars, for people to read."""
    with replacing(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.6g")


def _energies(attempt: Row | None, hull: Hull | None) -> dict[str, Any]:
    """Return a structure's energies and stability from its relaxation and the hull; unknown energies are NaN."""
    values: dict[str, Any] = dict.fromkeys(ENERGIES, math.nan)
    values |= {"relax_reason": "not attempted", "steps": 0, "hull_reason": ""}
    values |= dict.fromkeys(("attempted", "relaxed", "converged", "stable", "metastable"), False)
    if attempt is None:
        return values
    values |= {"attempted": True, "relax_reason": attempt["reason"]}
    values |= {name: attempt[name] for name in ("converged", "steps", "energy_per_atom")}
    if not math.isfinite(values["energy_per_atom"]):
        return values
    formation, reason = formation_energy(attempt["numbers"], values["energy_per_atom"])
    values |= {"formation_energy": formation, "hull_reason": reason}
    if hull is None or reason:
        return values
    composition = Counter[int](attempt["numbers"])
    on_hull, reason = hull.energy(composition)
    above = formation - on_hull
    counts = bool(values["converged"]) and len(composition) >= 2  # NaN is neither below nor above
    return values | {
        "hull_energy": on_hull,
        "energy_above_hull": above,
        "hull_reason": reason,
        "stable": counts and above < 0,
        "metastable": counts and above <= METASTABLE,
    }
