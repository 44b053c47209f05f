"""The hull on an energy model's own scale: what the model says about known crystals, shipped as one table per model.

Energies of a model and energies of DFT differ by more than the distances from the hull that matter. So a crystal is
compared with known crystals whose energies the same model computed, and the systematic part of its error cancels.

A table has one row per crystal: `id`, `source`, `numbers` (Z of all atoms of the cell), `energy_per_atom` (in eV/atom,
with the Materials Project's corrections of 2020) and `relaxed` (whether the model relaxed it, or it is as DFT left it).
The metadata say which model made it, and from which crystals. `python -m pipeline reference-energies` makes a table.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.crystals.energies import symbols_of
from pipeline.crystals.hull import MODEL, Hull, Point, elements_of
from pipeline.errors import KinoflowError
from pipeline.store.atomic import replacing
from pipeline.store.provenance import file_hash

TABLES = Path(__file__).parent / "reference" / "energies"
FOLDER = "reference_energies"  # in the cache
VERSION = 1
_KEY = b"kinoflow_reference_energies"


class Reference(NamedTuple):
    """A known crystal's energy by a model, in eV/atom, at the geometry of DFT or relaxed by the model."""

    id: str
    source: str
    numbers: tuple[int, ...]
    energy_per_atom: float
    relaxed: bool


def model_hull(model: str, cache: Path | None = None) -> Hull:
    """Return the hull on the scale of a model; one without points, whose description says why, if there is no table."""
    path = table_of(model, cache)
    if path is None:
        how = "make them with `python -m pipeline reference-energies` and the model's name and options"
        return Hull([], f"no reference energies of {model}; {how}")
    return hull_of(read_references(path)[0], _description(path))


def description_of(model: str, cache: Path | None = None) -> str:
    """Return what tables call the hull on the scale of a model; empty if there is no table of its energies."""
    path = table_of(model, cache)
    return "" if path is None else _description(path)


def table_of(model: str, cache: Path | None = None) -> Path | None:
    """Return the user's table of a model in the cache, or the one that comes with the project; None: there is none."""
    folders = [*([] if cache is None else [cache / FOLDER]), TABLES]
    return next((path for folder in folders if (path := folder / f"{model}.parquet").is_file()), None)


def hull_of(references: Iterable[Reference], description: str) -> Hull:
    """Return the hull over known crystals; formation energies are relative to the lowest energy of each element.

    Crystals with an element that has none are left out, and the description names the element.
    """
    known = list(references)
    lowest, points, missing = lowest_of_elements(known), list[Point](), set[int]()
    for reference in known:
        composition = Counter(reference.numbers)
        if absent := composition.keys() - lowest.keys():
            missing |= absent
        elif len(composition) > 1:
            points.append(Point.at(composition, formed(reference, lowest), MODEL, reference.id))
    if missing:
        description += f"; no energy of {symbols_of(sorted(missing))}"
    return Hull([*points, *elements_of(points, lowest)], description, lowest)


def lowest_of_elements(references: Iterable[Reference]) -> dict[int, float]:
    """Return the lowest energy of each pure element, in eV/atom by Z."""
    lowest: dict[int, float] = {}
    for one in references:
        if len(set(one.numbers)) == 1:
            lowest[one.numbers[0]] = min(one.energy_per_atom, lowest.get(one.numbers[0], math.inf))
    return lowest


def formed(reference: Reference, lowest: Mapping[int, float]) -> float:
    """Return the formation energy of a crystal relative to energies of the elements; NaN if one is missing."""
    apart = sum(lowest.get(z, math.nan) for z in reference.numbers) / len(reference.numbers)
    return reference.energy_per_atom - apart


def write_references(path: Path, references: Sequence[Reference], record: Mapping[str, Any]) -> None:
    """Write a table, with `record` in its metadata."""
    columns = {
        name: [getattr(one, name) for one in references] for name in ("id", "source", "energy_per_atom", "relaxed")
    }
    columns["numbers"] = pa.array([one.numbers for one in references], pa.list_(pa.uint8()))
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps({"version": VERSION} | dict(record))})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_references(path: Path) -> tuple[list[Reference], dict[str, Any]]:
    """Return the rows of a table, and the record of how it was made."""
    record, table = _record(path), pq.read_table(path)
    columns = {name: table[name].to_pylist() for name in Reference._fields}
    columns["numbers"] = map(tuple, columns["numbers"])
    return list(map(Reference, *columns.values())), record


def _description(path: Path) -> str:
    """Return what tables call a table of energies; the start of its SHA-256 tells versions apart."""
    rows, version = pq.read_metadata(path).num_rows, file_hash(path)[:12]
    return f"{rows} known crystals, energies by {_record(path)['model']} (SHA-256 {version})"


def _record(path: Path) -> dict[str, Any]:
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise KinoflowError(f"{path}: cannot be read as reference energies ({error}); make it again") from error
    record: dict[str, Any] = json.loads(metadata.get(_KEY, b"{}"))
    if record.get("version") != VERSION:
        found = f"version {record['version']} of the format" if "version" in record else "no reference energies"
        raise KinoflowError(f"{path}: holds {found}, and this program reads version {VERSION}; make it again")
    return record
