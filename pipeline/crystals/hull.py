"""The convex hull of formation energies: the energy of the best mixture of known phases at a composition.

A crystal is stable if its formation energy is below the hull. The points of the hull come from one of three places:

- known crystals whose energies the energy model computed: the hull on the model's own scale, on which crystals that the
  model relaxed are compared with their like. Formation energies are relative to the model's own elements.
- published formation energies of the Materials Project's ground states (one per formula), the elements at zero, and, if
  the data set has energies, `formation_energy - energy_above_hull` of the rows of all splits: by definition the energy
  of the Materials Project's own hull at that composition, which tells nothing about the structure of the row.
- the user's own computed entries (`crystals.hull` in the configuration), and then no others.
"""

import hashlib
import json
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.crystals.energies import formation_energy, symbols_of
from pipeline.crystals.mixtures import lowest_mixture
from pipeline.errors import KinoflowError
from pipeline.store.atomic import replacing

Shares = tuple[tuple[int, float], ...]
VERSION = 2
ELEMENT, PUBLISHED, DATA_SET, COMPUTED, MODEL = "element", "published", "data set", "computed", "model"


@dataclass(frozen=True)
class Point:
    """A formation energy (eV/atom) at a composition: shares of atoms by Z, which sum to one."""

    shares: Shares
    energy: float
    origin: str
    id: str

    @classmethod
    def at(cls, composition: Mapping[int, float], energy: float, origin: str, id: str) -> "Point":
        """Return the point of any multiple of a composition."""
        return cls(shares_of(composition), float(energy), origin, id)


def shares_of(composition: Mapping[int, float]) -> Shares:
    """Return the shares of a composition's elements; equal for all multiples of a formula."""
    total = sum(composition.values())
    if not total > 0 or min(composition.values()) <= 0:
        raise KinoflowError(f"{dict(composition)} is no composition; give numbers of atoms above zero by atomic number")
    return tuple((int(z), round(float(count) / total, 12)) for z, count in sorted(composition.items()))


class Hull:
    """Points and the lower convex hull over them."""

    def __init__(self, points: Iterable[Point], description: str, elements: Mapping[int, float] | None = None) -> None:
        """Keep the lowest of the points that share a composition and an origin.

        Formation energies are relative to the energies (eV/atom) of `elements` by Z; None: the Materials Project's.
        """
        lowest: dict[tuple[Any, str], Point] = {}
        for point in points:
            key = (point.shares, point.origin)
            if math.isfinite(point.energy) and (key not in lowest or point.energy < lowest[key].energy):
                lowest[key] = point
        self.points, self.description = tuple(lowest[key] for key in sorted(lowest)), description
        self.elements = elements
        self._energies = np.array([point.energy for point in self.points])
        sets = [_element_set(point.shares) for point in self.points]
        self._sets = np.array(sets, dtype=np.uint64).reshape(-1, 2).T.copy()  # two rows: far faster than two columns
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
        first, second = self._sets & ~np.array(_element_set(shares), dtype=np.uint64)[:, None]
        counts = self._counts
        if leave_out:
            counts, known = counts.copy(), self._known - ({shares} if leave_out == DATA_SET else set())
            at = attrgetter("shares")  # the points are sorted by it
            for j in range(bisect_left(self.points, shares, key=at), bisect_right(self.points, shares, key=at)):
                counts[j] = self.points[j].origin != leave_out and self._counts_at(self.points[j], known)
        return self._mixture(dict(shares), np.flatnonzero(counts & ((first | second) == 0))), ""

    def above(self, numbers: Sequence[int], energy_per_atom: float) -> tuple[float, str]:
        """Return how far a crystal of atoms Z is above the hull in eV/atom, or NaN and the reason why nobody knows."""
        formed, reason = formation_energy(numbers, energy_per_atom, self.elements)
        on_hull, missing = (math.nan, reason) if reason else self.energy(Counter(map(int, numbers)))
        return formed - on_hull, missing

    @staticmethod
    def _counts_at(point: Point, known: Collection[Any]) -> bool:
        """Return whether a point can be on the hull, if the data set has points at the compositions `known`.

        A compound at or above zero cannot, since the elements mix to zero. Nor can a published point where the data set
        has the Materials Project's own hull: the published one is older.
        """
        outdated = point.origin == PUBLISHED and point.shares in known
        return len(point.shares) == 1 or (point.energy < 0 and not outdated)

    def _mixture(self, shares: Mapping[int, float], among: np.ndarray[Any, Any]) -> float:
        place = {z: row for row, z in enumerate(shares)}
        matrix = np.zeros((len(shares), len(among)))
        for column, j in enumerate(among):
            for z, share in self.points[j].shares:
                matrix[place[z], column] = share
        return lowest_mixture(matrix, self._energies[among], np.array(list(shares.values())))

    def of(self, origins: Collection[str]) -> "Hull":
        """Return the hull over the points of these origins."""
        return Hull((point for point in self.points if point.origin in origins), self.description, self.elements)

    @property
    def origins(self) -> set[str]:
        """Where the points come from."""
        return {point.origin for point in self.points}

    @property
    def label(self) -> str:
        """What tables call the hull: its description, and a hash of its points, which tells versions apart."""
        points = json.dumps([(point.shares, point.energy, point.origin, point.id) for point in self.points])
        digest = hashlib.sha256(points.encode()).hexdigest()
        return f"{self.description} ({len(self.points)} points, SHA-256 {digest[:12]})"

    def save(self, path: Path) -> None:
        """Write the points as a parquet table, with the format's version and the description in its metadata."""
        columns = {
            "id": [point.id for point in self.points],
            "origin": [point.origin for point in self.points],
            "formation_energy": [point.energy for point in self.points],
            "numbers": pa.array([[z for z, _ in point.shares] for point in self.points], pa.list_(pa.int64())),
            "shares": pa.array([[share for _, share in point.shares] for point in self.points], pa.list_(pa.float64())),
        }
        record = {"version": VERSION, "description": self.description, "label": self.label}
        record |= {"elements": self.elements}
        table = pa.table(columns).replace_schema_metadata({"kinoflow_hull": json.dumps(record)})
        with replacing(path) as temporary:
            pq.write_table(table, temporary, compression="zstd")

    @classmethod
    def load(cls, path: Path) -> "Hull":
        """Read what `save` wrote."""
        record = _record_of(path)
        try:
            table = pq.read_table(path)
            numbers, shares, *columns = (
                table[name].to_pylist() for name in ("numbers", "shares", "formation_energy", "origin", "id")
            )
            at = (tuple(zip(*pair, strict=True)) for pair in zip(numbers, shares, strict=True))
            elements = {int(z): energy for z, energy in (record.get("elements") or {}).items()}
            return cls(map(Point, at, *columns), record["description"], elements or None)
        except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise _no_hull(path, error) from error


def label_of_hull(path: Path) -> str:
    """Return the label of a saved hull without reading its points."""
    return str(_record_of(path)["label"])


def _record_of(path: Path) -> dict[str, Any]:
    """Return what the metadata of a file say about the hull in it."""
    try:
        metadata = pq.read_schema(path).metadata or {}
        record = json.loads(metadata.get(b"kinoflow_hull", b"{}"))
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        raise _no_hull(path, error) from error
    if not isinstance(record, dict):
        raise _no_hull(path, "its notes are no record")
    if record.get("version") != VERSION:
        found = f"version {record['version']} of the format" if "version" in record else "no hull"
        raise KinoflowError(f"{path}: holds {found}, and this program reads version {VERSION}; make it again")
    return record


def _no_hull(path: Path, why: object) -> KinoflowError:
    return KinoflowError(f"{path}: cannot be read as a hull ({why}); remove it and make it again")


def elements_of(points: Iterable[Point], elements: Iterable[int] = ()) -> list[Point]:
    """Return the points of all elements in the given points; by definition, their formation energies are zero."""
    found = {z for point in points for z, _ in point.shares} | set(elements)
    return [Point.at({z: 1}, 0.0, ELEMENT, symbols_of([z])) for z in sorted(found)]


def _element_set(shares: Shares) -> tuple[int, int]:
    """Return the atomic numbers of a composition as two words of 64 bits."""
    bits = sum(1 << z for z, _ in shares)
    return bits & (2**64 - 1), bits >> 64
