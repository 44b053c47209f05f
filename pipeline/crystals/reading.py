"""Structures from files: CIF files (one, a folder or a zip of them), extended XYZ, CSV with a `cif` column, parquet.

Every entry gives one row of a crystal frame; an entry that cannot be used has a reason. If only its cell is wrong, or
if the reason comes from a table, the row still has the atoms: they are a composition. An id is a file's path in its
folder, the column or field `material_id` or `id`, or else a number. Energies come from the columns or fields
`formation_energy_per_atom` and `e_above_hull` (eV/atom), if there are any.
"""

import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.crystals.cif import crystals_in_cif
from pipeline.crystals.crystal import Crystal, fault_of_cell
from pipeline.crystals.elements import LAST
from pipeline.crystals.extxyz import frames_of
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystal_of, frame_of, records_of, rejected_row, row_of
from pipeline.errors import KinoflowError
from pipeline.store.parquet import read_table
from pipeline.store.progress import Progress

ENERGIES = {"formation_energy": "formation_energy_per_atom", "energy_above_hull": "e_above_hull"}
COLUMNS = CRYSTAL_COLUMNS | dict.fromkeys(ENERGIES, "float64")
_IDS = ("material_id", "id")

Find = Callable[[], list[Crystal | str]]  # what an entry holds: crystals, or reasons why they cannot be used


class Entry(NamedTuple):
    """One entry of a file: its id, what it holds, its columns or fields, and why it cannot be used if that is known."""

    id: str
    find: Find
    values: Mapping[str, Any] = {}
    reason: str = ""


def read_structures(path: Path) -> pd.DataFrame:
    """Return a row for every structure in a file or folder, with the reason for each one that cannot be used."""
    if not path.exists():
        raise KinoflowError(f"{path}: no such file or folder; give a path to structures")
    if path.is_dir():
        return frame_of_entries(path, _entries_of_folder(path))
    for suffix, read in _READERS.items():
        if path.name.lower().endswith(suffix):
            return read(path)
    raise KinoflowError(f"{path}: unknown suffix; give a folder of CIF files or one of {', '.join(_READERS)}")


def _checked_row(id: str, found: Crystal | str, energies: dict[str, float]) -> Row:
    """Return the row of a crystal after checking it, or of the reason why there is none."""
    if isinstance(found, str):
        return rejected_row(id, found, **energies)
    if not len(found.numbers):
        return rejected_row(id, "no atoms", **energies)
    if ((found.numbers < 1) | (found.numbers > LAST)).any():
        return rejected_row(id, f"an element beyond Z = {LAST}", **energies)
    if not all(np.isfinite(values).all() for values in (found.lengths, found.angles, found.fractions)):
        return rejected_row(id, "a number that is not finite", **energies)
    crystal = Crystal(id, found.lengths, found.angles, found.numbers, found.fractions)
    return row_of(crystal, reason=fault_of_cell(found.lengths, found.angles), **energies)


def frame_of_entries(path: Path, entries: Sequence[Entry]) -> pd.DataFrame:
    """Return the rows of all entries of a file or folder; raise an error if there are none."""
    if not entries:
        raise KinoflowError(f"{path}: no structures in this file; give one that has some")
    rows: list[Row] = []
    with Progress(f"reading {path.name}", len(entries), unit="structure") as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pymatgen warns about many files and about every noble gas
        for done, entry in enumerate(entries, start=1):
            found, energies = entry.find(), _energies(entry.values)
            ids = [entry.id] if len(found) == 1 else [f"{entry.id}-{number}" for number in range(1, len(found) + 1)]
            known = {"reason": entry.reason} if entry.reason else {}
            rows += [_checked_row(*pair, energies) | known for pair in zip(ids, found, strict=True)]
            progress.advance(done)
    return frame_of(_with_unique_ids(rows), COLUMNS)


def _with_unique_ids(rows: Iterable[Row]) -> Iterator[Row]:
    taken: dict[str, int] = {}  # id -> the last number that was added to it
    for row in rows:
        id = row["id"]
        while id in taken:
            taken[row["id"]] += 1
            id = f"{row['id']}#{taken[row['id']]}"
        taken[id] = 1
        yield row | {"id": id}


def _entries_of_folder(path: Path) -> list[Entry]:
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() == ".cif" and file.is_file())
    if not files:
        raise KinoflowError(f"{path}: no CIF files in this folder; give one with files *.cif")
    return [_cif_entry(str(file.relative_to(path).with_suffix("")), file.read_bytes) for file in files]


def _cif_entry(id: str, read: Callable[[], bytes]) -> Entry:
    return Entry(id, lambda: crystals_in_cif(read().decode("utf-8", errors="replace"), id))


def _read_cif(path: Path) -> pd.DataFrame:
    return frame_of_entries(path, [_cif_entry(path.stem, path.read_bytes)])


def _read_zip(path: Path) -> pd.DataFrame:
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if name.lower().endswith(".cif"))
            names = [name for name in names if not name.startswith("__MACOSX/")]
            if not names:
                raise KinoflowError(f"{path}: no CIF files in this archive; give one with files *.cif")
            entries = [Entry(id := name[: -len(".cif")], partial(_member, archive, name, id)) for name in names]
            return frame_of_entries(path, entries)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise KinoflowError(f"{path}: cannot be read as a zip archive ({error}); pack it again") from error


def _member(archive: zipfile.ZipFile, name: str, id: str) -> list[Crystal | str]:
    try:
        content = archive.read(name)
    except RuntimeError as error:  # encrypted, or packed in a way that Python does not know
        return [f"cannot be unpacked: {error}"]
    return crystals_in_cif(content.decode("utf-8", errors="replace"), id)


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, dtype=dict.fromkeys(("cif", *_IDS), str))
    except (ValueError, OSError, EOFError, UnicodeDecodeError) as error:  # also pandas' own, which are ValueErrors
        raise KinoflowError(f"{path}: cannot be read as a table ({error}); give a CSV file with a header") from error
    if "cif" not in table.columns:
        has = ", ".join(map(str, table.columns))
        raise KinoflowError(f"{path}: no column 'cif' with the text of CIF files; it has {has}")
    name = path.name.split(".")[0]
    entries = []
    for number, row in enumerate(table.to_dict("records")):
        values = {str(key): value for key, value in row.items()}
        id = next((str(values[key]) for key in _IDS if pd.notna(values.get(key))), f"{name}-{number}")
        entries.append(Entry(id, partial(_crystals_in_cell, values["cif"], id), values))
    return frame_of_entries(path, entries)


def _crystals_in_cell(text: Any, id: str) -> list[Crystal | str]:
    return crystals_in_cif(text, id) if isinstance(text, str) else ["no CIF in this row"]


def _read_extxyz(path: Path) -> pd.DataFrame:
    entries = []
    for number, (found, fields) in enumerate(frames_of(path.read_text("utf-8", errors="replace"), path.stem), start=1):
        id = next((str(fields[key]) for key in _IDS if key in fields), f"{path.stem}-{number:06d}")
        entries.append(Entry(id, partial(list, [found]), fields))
    return frame_of_entries(path, entries)


def _read_parquet(path: Path) -> pd.DataFrame:
    entries = []
    for record in records_of(read_table(path, CRYSTAL_COLUMNS)):
        reason = record["reason"] if isinstance(record["reason"], str) else ""  # null is no reason
        entries.append(Entry(str(record["id"]), partial(_crystals_in_record, record), record, reason))
    return frame_of_entries(path, entries)


def _crystals_in_record(record: Row) -> list[Crystal | str]:
    """Return the crystal of a row of a table, which may have been written by anyone."""
    try:
        crystal = crystal_of(record)
    except (TypeError, ValueError) as error:  # no lists, or not of numbers, or fractions that are not triples
        return [f"does not parse: {error}"]
    if crystal is None:
        return ["no atoms"]
    sizes = [values.size for values in (crystal.lengths, crystal.angles, crystal.numbers)]
    if sizes != [3, 3, len(crystal.fractions)]:
        counts = f"{sizes[0]} lengths, {sizes[1]} angles, {sizes[2]} atoms, {len(crystal.fractions)} places"
        return [f"does not parse: {counts}"]
    if not np.array_equal(crystal.numbers, record["numbers"]):
        return ["does not parse: atomic numbers that are not whole"]
    return [crystal]


def _energies(values: Mapping[str, Any]) -> dict[str, float]:
    found = {ours: values.get(theirs, values.get(ours)) for ours, theirs in ENERGIES.items()}
    return {name: _number(value) for name, value in found.items()}


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):  # nothing, or text instead of a number: the energy is not known
        return float("nan")


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".cif": _read_cif,
    ".zip": _read_zip,
    ".extxyz": _read_extxyz,
    ".xyz": _read_extxyz,
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".parquet": _read_parquet,
}
