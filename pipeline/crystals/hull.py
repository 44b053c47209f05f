"""The convex hull of formation energies: the energy of the best mixture of known phases at a composition.

A crystal is stable if its formation energy is below the hull. The points of the hull come from one of two places:

- published formation energies of the Materials Project's ground states (one per formula), the elements at zero, and, if
  the data set has energies, `formation_energy - energy_above_hull` of each of its rows: by definition the energy of
  the Materials Project's own hull at that composition. The rows of all splits are used, since these energies are those
  of known phases around a composition, and tell nothing about the structure of the row.
- the user's own computed entries (`crystals.hull` in the configuration), and then no others.
"""

import itertools
import json
import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config import Crystals
from pipeline.crystals.computed_entries import read_computed_entries
from pipeline.crystals.corrections import change_of_2020
from pipeline.crystals.energies import symbols_of
from pipeline.crystals.table import records_of
from pipeline.crystals.workers import run_tasks
from pipeline.errors import KinoflowError
from pipeline.store.atomic import replacing
from pipeline.store.parquet import read_table
from pipeline.store.provenance import write_provenance

FILES = ("formation_energies/train.csv", "formation_energies/val.csv", "formation_energies/test.csv")
VERSION = 1
PORTION = 500  # formulas that a worker corrects at a time
ELEMENT, PUBLISHED, DATA_SET, COMPUTED = "element", "published", "data set", "computed"


@dataclass(frozen=True)
class Point:
    """A formation energy (eV/atom) at a composition: shares of atoms by Z, which sum to one."""

    shares: tuple[tuple[int, float], ...]
    energy: float
    origin: str
    id: str

    @classmethod
    def at(cls, composition: Mapping[int, float], energy: float, origin: str, id: str) -> "Point":
        """Return the point of any multiple of a composition."""
        return cls(shares_of(composition), float(energy), origin, id)


def shares_of(composition: Mapping[int, float]) -> tuple[tuple[int, float], ...]:
    """Return the shares of a composition's elements; equal for all multiples of a formula."""
    total = sum(composition.values())
    if not total > 0 or min(composition.values()) <= 0:
        raise KinoflowError(f"{dict(composition)} is no composition; give numbers of atoms above zero by atomic number")
    return tuple((int(z), round(float(count) / total, 12)) for z, count in sorted(composition.items()))


class Hull:
    """Points and the lower convex hull over them."""

    def __init__(self, points: Iterable[Point], description: str) -> None:
        """Keep the lowest of the points that share a composition and an origin."""
        lowest: dict[tuple[Any, str], Point] = {}
        for point in points:
            key = (point.shares, point.origin)
            if math.isfinite(point.energy) and (key not in lowest or point.energy < lowest[key].energy):
                lowest[key] = point
        self.points = tuple(lowest[key] for key in sorted(lowest))
        self.description = description
        self._energies = np.array([point.energy for point in self.points])
        sets = [_element_set(z for z, _ in point.shares) for point in self.points]
        self._sets = np.array(sets, dtype=np.uint64).reshape(-1, 2)
        self._elements = {z for point in self.points for z, _ in point.shares if len(point.shares) == 1}
        self._known = {point.shares for point in self.points if point.origin == DATA_SET}
        self._counts = np.array([self._counts_at(point, self._known) for point in self.points], dtype=bool)

    def energy(self, composition: Mapping[int, float], leave_out: str = "") -> tuple[float, str]:
        """Return the hull's formation energy in eV/atom at a composition of Z, or NaN and the reason why there is none.

        min_w sum_j w_j E_j over w >= 0 with sum_j w_j x_j = x: a linear programme over the points without any other
        elements. With `leave_out`, points of that origin at exactly this composition do not count.
        """
        shares = shares_of(composition)
        if missing := [z for z, _ in shares if z not in self._elements]:
            return math.nan, f"no reference for {symbols_of(missing)}"
        outside = ~np.array(_element_set(z for z, _ in shares), dtype=np.uint64)
        counts = self._counts
        if leave_out:
            counts, known = counts.copy(), self._known - ({shares} if leave_out == DATA_SET else set())
            for j in self._at(shares):
                counts[j] = self.points[j].origin != leave_out and self._counts_at(self.points[j], known)
        return self._mixture(dict(shares), np.flatnonzero(counts & ~(self._sets & outside).any(axis=1))), ""

    @staticmethod
    def _counts_at(point: Point, known: Collection[Any]) -> bool:
        """Return whether a point can be on the hull, if the data set has points at the compositions `known`.

        A compound at or above zero cannot, since the elements mix to zero. Nor can a published point where the data set
        has the Materials Project's own hull: the published one is older.
        """
        outdated = point.origin == PUBLISHED and point.shares in known
        return len(point.shares) == 1 or (point.energy < 0 and not outdated)

    def _at(self, shares: tuple[tuple[int, float], ...]) -> list[int]:
        """Return the places of the points at a composition; they are next to each other."""
        first = bisect_left(self.points, (shares, ""), key=lambda point: (point.shares, point.origin))
        places = itertools.count(first)
        return list(itertools.takewhile(lambda j: j < len(self.points) and self.points[j].shares == shares, places))

    def _mixture(self, shares: Mapping[int, float], among: np.ndarray[Any, Any]) -> float:
        from scipy.optimize import linprog

        place = {z: row for row, z in enumerate(shares)}
        matrix = np.zeros((len(shares), len(among)))
        for column, j in enumerate(among):
            for z, share in self.points[j].shares:
                matrix[place[z], column] = share
        solved = linprog(self._energies[among], A_eq=matrix, b_eq=list(shares.values()), method="highs-ds")
        if not solved.success:  # should not happen: the elements alone are a solution
            raise KinoflowError(f"the hull at {dict(shares)} cannot be computed ({solved.message})")
        return float(solved.fun)

    def of(self, origins: Collection[str]) -> "Hull":
        """Return the hull over the points of these origins."""
        return Hull((point for point in self.points if point.origin in origins), self.description)

    @property
    def origins(self) -> set[str]:
        """Where the points come from."""
        return {point.origin for point in self.points}

    def save(self, path: Path) -> None:
        """Write the points as a parquet table, with the format's version and the description in its metadata."""
        columns = {
            "id": [point.id for point in self.points],
            "origin": [point.origin for point in self.points],
            "formation_energy": [point.energy for point in self.points],
            "numbers": pa.array([[z for z, _ in point.shares] for point in self.points], pa.list_(pa.int64())),
            "shares": pa.array([[share for _, share in point.shares] for point in self.points], pa.list_(pa.float64())),
        }
        record = {"version": VERSION, "description": self.description, "points": len(self.points)}
        table = pa.table(columns).replace_schema_metadata({"kinoflow_hull": json.dumps(record)})
        with replacing(path) as temporary:
            pq.write_table(table, temporary, compression="zstd")

    @classmethod
    def load(cls, path: Path) -> "Hull":
        """Read what `save` wrote."""
        try:
            table = pq.read_table(path)
        except (pa.ArrowException, OSError) as error:
            raise KinoflowError(f"{path}: cannot be read as a hull ({error}); remove it and make it again") from error
        record = json.loads((table.schema.metadata or {}).get(b"kinoflow_hull", b"{}"))
        if record.get("version") != VERSION:
            found = f"version {record['version']} of the format" if "version" in record else "no hull"
            raise KinoflowError(f"{path}: holds {found}, and this program reads version {VERSION}; make it again")
        points = (
            Point(
                tuple(zip(row["numbers"], row["shares"], strict=True)),
                row["formation_energy"],
                row["origin"],
                row["id"],
            )
            for row in table.to_pylist()
        )
        return cls(points, record["description"])


def build_hull(crystals: Crystals, seed: int, cache: Path, *, rows: Path, output: Path) -> None:
    """Write the hull for an experiment on crystals; fetched files are in the `cache`."""
    if crystals.hull is not None:
        inputs = [Path(crystals.hull)]
        entries = read_computed_entries(inputs[0])
        points = [Point.at(entry.composition, entry.energy, COMPUTED, entry.id) for entry in entries.compounds]
        points += elements_of(points, entries.elements)
        description = entries.description
    else:
        files = [cache / name for name in FILES]
        inputs = [rows, *files]
        published, on_hull = published_points(files, crystals.workers), list(row_points(read_table(rows)))
        points = [*published, *on_hull]
        points += elements_of(points)
        description = (
            f"{len(published)} published formation energies of the Materials Project with the corrections of 2020, "
            f"and {len(on_hull)} points of its hull from the energies of the data set"
        )
    hull = Hull(points, description)
    hull.save(output)
    write_provenance([output], {"crystals": {"hull": crystals.hull}}, seed, inputs)
    print(f"hull: {len(hull.points)} points ({hull.description})")


def elements_of(points: Iterable[Point], elements: Iterable[int] = ()) -> list[Point]:
    """Return the points of all elements in the given points; by definition, their formation energies are zero."""
    found = {z for point in points for z, _ in point.shares} | set(elements)
    return [Point.at({z: 1}, 0.0, ELEMENT, symbols_of([z])) for z in sorted(found)]


def published_points(files: Sequence[Path], workers: int) -> list[Point]:
    """Return the compounds of tables with the columns formula and target (formation energy in eV/atom).

    They were published with the Materials Project's corrections of 2011. They get those of 2020 instead, as in the
    energies of MP-20, of CHGNet and of the Materials Project today.
    """
    try:
        frame = pd.concat(pd.read_csv(file, keep_default_na=False) for file in files)  # NaN is a compound of Na and N
        published = list(zip(frame["formula"], frame["target"].astype(float), strict=True))
    except (OSError, ValueError, KeyError) as error:
        advice = "fetch them with `python -m pipeline fetch formation_energies`"
        names = ", ".join(map(str, files))
        raise KinoflowError(f"{names}: not the tables of formation energies ({error}); {advice}") from error
    portions = [published[start : start + PORTION] for start in range(0, len(published), PORTION)]
    label, corrected = "published formation energies", dict[int, list[Point]]()
    for number, outcome in run_tasks(corrected_points, portions, workers=workers, seconds=600, label=label):
        if outcome.value is None:
            raise KinoflowError(f"{label}: cannot be corrected ({outcome.reason})")
        corrected[number] = outcome.value
    return [point for number in sorted(corrected) for point in corrected[number]]


def corrected_points(published: Sequence[tuple[str, float]]) -> list[Point]:
    """Return the points of compounds, given formulas and energies with the corrections of 2011."""
    from pymatgen.core import Composition

    points = []
    for formula, energy in published:
        composition = Composition(formula)
        if len(composition) > 1:
            counts = {element.Z: amount for element, amount in composition.items()}
            points.append(Point.at(counts, energy + change_of_2020(composition), PUBLISHED, formula))
    return points


def row_points(rows: pd.DataFrame) -> Iterator[Point]:
    """Yield the Materials Project's hull at the compositions of a data set's rows, where both energies are known."""
    for row in records_of(rows):
        energy = row["formation_energy"] - row["energy_above_hull"]
        numbers = [int(number) for number in row["numbers"]]
        if math.isfinite(energy) and len(set(numbers)) > 1:
            yield Point.at({z: numbers.count(z) for z in set(numbers)}, energy, DATA_SET, row["id"])


def _element_set(numbers: Iterable[int]) -> tuple[int, int]:
    """Return a set of atomic numbers as two words of 64 bits."""
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits & (2**64 - 1), bits >> 64
