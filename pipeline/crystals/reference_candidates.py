"""Which known crystals can lie on a hull: elements, and compositions whose published energies are on it or near it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.crystals.crystal import Crystal, Floats
from pipeline.crystals.datasets import matbench_dielectric
from pipeline.crystals.hull import PUBLISHED, Hull, shares_of
from pipeline.crystals.matching import Formula, reduced_formula
from pipeline.crystals.reading import read_structures
from pipeline.crystals.table import crystal_of, records_of
from pipeline.crystals.workers import run_tasks
from pipeline.errors import KinoflowError

PORTION = 500  # compositions that a worker compares with a hull at a time


class Known(NamedTuple):
    """A known crystal; its formation energy and energy above the hull by DFT, in eV/atom, are NaN if nobody says."""

    source: str
    crystal: Crystal
    formula: Formula
    formed: float = math.nan
    above: float = math.nan


def read_known(source: str, path: Path) -> list[Known]:
    """Return the usable structures of a file: one of the catalogue, or any that `read_structures` reads.

    Ids that are mere numbers get the name of the source.
    """
    if path.suffix == ".npz":
        return [Known(source, crystal, reduced_formula(crystal)) for crystal in packed_crystals(path)]
    frame = matbench_dielectric.structures(path) if path.name.endswith(".json.gz") else read_structures(path)
    frame["id"] = frame["id"].where(~frame["id"].str.isdecimal(), f"{source}-" + frame["id"])
    found = []
    for row in records_of(frame):
        crystal = None if row["reason"] else crystal_of(row)
        if crystal is not None:
            energies = float(row["formation_energy"]), float(row["energy_above_hull"])
            found.append(Known(source, crystal, reduced_formula(crystal), *energies))
    return found


def packed_crystals(path: Path) -> list[Crystal]:
    """Return crystals from arrays: ids, num_atoms and lattice of each, and Z and frac of the atoms of all in a row."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            ids, counts, lattices, numbers, fractions = (
                archive[name] for name in ("ids", "num_atoms", "lattice", "Z", "frac")
            )
    except (OSError, ValueError, KeyError) as error:
        raise KinoflowError(f"{path}: not packed structures ({error}); fetch it again") from error
    ends = np.cumsum(counts, dtype=np.int64)  # the counts are bytes, and would overflow
    cells, places, atoms = lattices.astype(np.float64), fractions.astype(np.float64), numbers.astype(np.int64)
    return [
        Crystal(str(id), cell[:3], cell[3:], atoms[start:end], places[start:end])
        for id, cell, start, end in zip(ids, cells, ends - counts, ends, strict=True)
    ]


def without_copies(known: Iterable[Known]) -> list[Known]:
    """Return the first crystal of each id."""
    first: dict[str, Known] = {}
    for one in known:
        first.setdefault(one.crystal.id, one)
    return list(first.values())


def candidates(known: Sequence[Known], published: Mapping[Formula, float], within: float) -> list[Known]:
    """Return the elements, and all polymorphs of compositions with an energy at most `within` above the hull by DFT.

    The energies are those of the crystals themselves and the `published` ones of their compositions; a composition
    without either is no candidate.
    """
    lowest = dict(published)
    for one in known:
        if math.isfinite(one.above):
            lowest[one.formula] = min(one.above, lowest.get(one.formula, math.inf))
    return [one for one in known if len(one.formula) == 1 or lowest.get(one.formula, math.inf) <= within]


def published_distances(hull: Path, formulas: Iterable[Formula], workers: int) -> dict[Formula, float]:
    """Return the energy above the published hull of each composition's published ground state, where there is one."""
    energies = {point.shares: point.energy for point in Hull.load(hull).points if point.origin == PUBLISHED}
    found = ((formula, energies.get(shares_of(dict(formula)))) for formula in formulas)
    asked = [(formula, energy) for formula, energy in found if energy is not None]
    return dict(zip((formula for formula, _ in asked), distances_from(hull, asked, workers).tolist(), strict=True))


def distances_from(hull: Path, asked: Sequence[tuple[Formula, float]], workers: int) -> Floats:
    """Return how far formation energies (eV/atom) at compositions are above the hull in a file; NaN: not known."""
    portions = [asked[start : start + PORTION] for start in range(0, len(asked), PORTION)]
    found = np.full(len(asked), math.nan)
    label, initialise = "distances from the hull", partial(Hull.load, hull)
    for number, outcome in run_tasks(
        _distances, portions, workers=workers, seconds=600, label=label, initialise=initialise
    ):
        if outcome.value is None:
            raise KinoflowError(f"{label}: cannot be computed ({outcome.reason})")
        found[number * PORTION : number * PORTION + len(portions[number])] = outcome.value
    return found


def _distances(hull: Hull, asked: Sequence[tuple[Formula, float]]) -> list[float]:
    return [energy - hull.energy(dict(formula))[0] for formula, energy in asked]
