"""The stage that puts together what is known about each structure: validity, energies, stability, novelty."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import METASTABLE, formation_energy
from pipeline.crystals.hulls import Hulls
from pipeline.crystals.matching import first_places, kinds_of, match_crystals
from pipeline.crystals.symmetry import TOLERANCE_RELAXED, UNKNOWN, space_group
from pipeline.crystals.table import Row, crystal_of, records_of
from pipeline.crystals.verdicts import place
from pipeline.errors import KinoflowError
from pipeline.store.atomic import replacing
from pipeline.store.journal import Journal

DESCRIBED = ("structural_valid", "composition_valid", "composition_valid_default")
RELAXED = ("id", "reason", "converged", "steps", "energy_per_atom", "rmsd", "lengths", "angles", "numbers", "fractions")
PUBLISHED = ("hull_energy", "energy_above_published_hull")
ENERGIES = ("energy_per_atom", "formation_energy", "energy_above_hull", "uncertainty", *PUBLISHED)
STABLE = ("stable", "metastable", "stable_converged", "stable_published")
COLUMNS = {
    **dict.fromkeys(("id", "reason", "formula"), "str"),
    **dict.fromkeys(("atoms", "elements"), "int64"),
    "density": "float64",
    "space_group": "int64",
    **dict.fromkeys((*DESCRIBED, "attempted", "relaxed", "converged"), "bool"),
    "relax_reason": "str",
    "steps": "int64",
    "rmsd": "float64",
    "space_group_relaxed": "int64",
    **dict.fromkeys(ENERGIES, "float64"),
    **dict.fromkeys(("hull_reason", "verdict", "verdict_reason"), "str"),
    **dict.fromkeys((*STABLE, "unique", "novel", "sun", "msun"), "bool"),
    **dict.fromkeys(("kind", "known_as", "match_reason"), "str"),
}
OF_HULL = ("energy_above_hull", "uncertainty", "verdict", "verdict_reason", *STABLE, "sun", "msun")
OF_PUBLISHED = (*PUBLISHED, "stable_published")
OF_TRAIN = ("novel", "sun", "msun", "known_as")


def assess_rows(
    described: pd.DataFrame,
    relaxed: pd.DataFrame,
    hulls: Hulls,
    train: Sequence[Crystal] | None,
    *,
    workers: int,
    seconds: float,
    finished: Journal | None = None,
) -> pd.DataFrame:
    """Return the columns of :data:`COLUMNS`, but no stability without a hull, and no novelty without a training set.

    As in the paper, a relaxation that reached its step limit counts by its energy, and only failures do not count.
    Uniqueness and novelty are those of the relaxed structure if it has an energy, otherwise of the generated one. A
    structure that is invalid, or that could not be matched in time, is neither, and others like it may still be. S.U.N.
    and M.S.U.N. structures are the first of each kind among the stable, or metastable, and novel ones, whatever other
    one is like them. Each judge adds an energy above its own hull, and its verdict.
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
        after = crystal_of(attempt) if attempt and math.isfinite(attempt["energy_per_atom"]) else None
        usable = bool(row["structural_valid"]) and not row["reason"]
        crystals.append((after or crystal_of(row)) if usable else None)
        rows.append({name: row[name] for name in COLUMNS if name in row} | _relaxed(attempt, after, hulls))
        rows[-1]["relaxed"] = attempt is not None and not row["reason"]
    matches = match_crystals(crystals, train or [], workers=workers, seconds=seconds, finished=finished)
    kinds = kinds_of(matches, range(len(rows)))
    for name, among in (("sun", "stable"), ("msun", "metastable")):
        counted = [position for position, row in enumerate(rows) if row[among] and matches[position].novel]
        first = first_places(matches, counted)
        for position, row in enumerate(rows):
            row[name] = position in first
    for position, (row, match) in enumerate(zip(rows, matches, strict=True)):
        kind = rows[kinds[position]]["id"] if position in kinds else ""
        row |= {"unique": kinds.get(position) == position, "kind": kind, "match_reason": match.reason}
        row |= {"novel": match.novel, "known_as": match.known}
    left_out = {*(() if hulls.published else OF_PUBLISHED), *(() if hulls.any else OF_HULL)}
    left_out |= set(OF_TRAIN if train is None else ())
    columns = {name: kind for name, kind in COLUMNS.items() if name not in left_out}
    for judge in hulls.judges:
        columns |= {f"energy_above_hull_{judge}": "float64", f"verdict_{judge}": "str"}
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame of scalars, for people to read."""
    with replacing(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.6g")


def _relaxed(attempt: Row | None, after: Crystal | None, hulls: Hulls) -> dict[str, Any]:
    """Return what a structure's relaxation and the hulls say; unknown energies are NaN."""
    values: dict[str, Any] = dict.fromkeys((*ENERGIES, "rmsd"), math.nan) | dict.fromkeys(STABLE, False)
    values |= {"attempted": attempt is not None, "relaxed": False, "converged": False}
    values |= {"relax_reason": "not attempted", "steps": 0}
    values |= {"space_group_relaxed": UNKNOWN, "hull_reason": "", "verdict": "", "verdict_reason": "not relaxed"}
    for judge in hulls.judges:
        values |= {f"energy_above_hull_{judge}": math.nan, f"verdict_{judge}": ""}
    if attempt is None:
        return values
    values |= {"relax_reason": attempt["reason"]}
    values |= {name: attempt[name] for name in ("converged", "steps", "energy_per_atom", "rmsd")}
    if after is None:
        return values
    return values | _energies(attempt, hulls) | {"space_group_relaxed": space_group(after, TOLERANCE_RELAXED)}


def _energies(attempt: Row, hulls: Hulls) -> dict[str, Any]:
    """Return a relaxed structure's energies above the hulls, the verdicts, and whether it counts as stable."""
    numbers, energy = attempt["numbers"], attempt["energy_per_atom"]
    formation, reason = formation_energy(numbers, energy)
    values: dict[str, Any] = {"formation_energy": formation, "hull_reason": reason}
    compound = len(set(numbers)) >= 2  # NaN is neither below nor above
    if hulls.published:
        above, _ = hulls.published.above(numbers, energy)
        values |= {"energy_above_published_hull": above, "hull_energy": formation - above}
        values |= {"stable_published": compound and above < 0}
    if hulls.any:
        found = place(numbers, energy, hulls.own, hulls.published)
        stable = compound and found.above < 0
        values |= {"energy_above_hull": found.above, "uncertainty": found.uncertainty, "hull_reason": found.reason}
        values |= {"verdict": found.verdict, "verdict_reason": found.verdict_reason}
        values |= {"stable": stable, "stable_converged": stable and bool(attempt["converged"])}
        values |= {"metastable": compound and found.above <= METASTABLE}
    for name, judge in hulls.judges.items():
        judged = place(numbers, judge.energies.get(attempt["id"], math.nan), judge.scale, hulls.published)
        values |= {f"energy_above_hull_{name}": judged.above, f"verdict_{name}": judged.verdict}
    return values
