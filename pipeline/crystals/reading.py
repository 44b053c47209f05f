"""Structures from files: CIF files (one, a folder or a zip of them), extended XYZ, CSV with a `cif` column, parquet.

Every entry gives one row of a crystal frame; an entry that cannot be used has a reason. If only its cell is wrong, or
if the reason comes from a table, the row still has the atoms: they are a composition. An id is a file's path in its
folder, the column or field `material_id` or `id`, or else a number. Energies come from the columns or fields
`formation_energy_per_atom` and `e_above_hull` (eV/atom), if there are any. A CIF file of more than LARGEST bytes,
packed or not, and a crystal of more than MOST_ATOMS are rows with a reason, too.
"""

import gzip
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

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
LARGEST = 2**24  # bytes of a CIF file
MOST_ATOMS = 10_000  # of a crystal
MOST_GROWTH = 100  # bytes of a packed table for each of its file; text shrinks to a tenth or so
_AT_ONCE = 2**20  # bytes that are unpacked together
_IDS = ("material_id", "id")


class Entry(NamedTuple):
    """An entry of a file; `find` returns its crystals, or reasons why they cannot be used, and `reason` a known one."""

    id: str
    find: Callable[[], list[Crystal | str]]
    values: Mapping[str, Any] = {}
    reason: str = ""


def read_structures(path: Path) -> pd.DataFrame:
    """Return a row for every structure in a file or folder, with the reason for each one that cannot be used."""
    if not path.exists():
        raise KinoflowError(f"{path}: no such file or folder; give a path to structures")
    if path.is_dir():
        return _read_folder(path)
    if read := next((read for suffix, read in _READERS.items() if path.name.lower().endswith(suffix)), None):
        return read(path)
    raise KinoflowError(f"{path}: unknown suffix; give a folder of CIF files or one of {', '.join(_READERS)}")


def check_some_usable(path: Path, structures: pd.DataFrame) -> None:
    """Raise an error if none of the structures in a file or folder can be used."""
    if (structures["reason"] != "").all():
        what = f"none of its {len(structures)} structures can be used; {structures['id'].iloc[0]}"
        raise KinoflowError(f"{path}: {what}: {structures['reason'].iloc[0]}; correct the files, or name others")


def frame_of_entries(path: Path, entries: Sequence[Entry]) -> pd.DataFrame:
    """Return the rows of all entries of a file or folder; raise an error if there are none."""
    if not entries:
        raise KinoflowError(f"{path}: no structures in this file; give one that has some")
    rows: list[Row] = []
    taken: dict[str, int] = {}  # id -> the last number that was added to it
    with Progress(f"reading {path.name}", len(entries), unit="structure") as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pymatgen warns about many files and about every noble gas
        for done, entry in enumerate(entries, start=1):
            found, energies = entry.find(), _energies(entry.values)
            known = {"reason": entry.reason} if entry.reason else {}
            for number, one in enumerate(found, start=1):
                own = id = entry.id if len(found) == 1 else f"{entry.id}-{number}"
                while id in taken:
                    taken[own] += 1
                    id = f"{own}#{taken[own]}"
                taken[id] = 1
                rows.append(_checked_row(id, one, energies) | known)
            progress.advance(done)
    return frame_of(rows, COLUMNS)


def _checked_row(id: str, found: Crystal | str, energies: dict[str, float]) -> Row:
    """Return the row of a crystal after checking it, or of the reason why there is none."""
    if isinstance(found, str):
        return rejected_row(id, found, **energies)
    measures = (found.lengths, found.angles, found.fractions)
    for wrong, reason in (
        (not len(found.numbers), "no atoms"),
        (len(found.numbers) > MOST_ATOMS, f"more than {MOST_ATOMS:,} atoms"),
        (((found.numbers < 1) | (found.numbers > LAST)).any(), f"an element beyond Z = {LAST}"),
        (not all(np.isfinite(values).all() for values in measures), "a number that is not finite"),
    ):
        if wrong:
            return rejected_row(id, reason, **energies)
    return row_of(replace(found, id=id), reason=fault_of_cell(found.lengths, found.angles), **energies)


def _read_folder(path: Path) -> pd.DataFrame:
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() == ".cif" and not file.is_dir())
    if not files:
        raise KinoflowError(f"{path}: no CIF files in this folder; give one with files *.cif")
    ids = [str(file.relative_to(path).with_suffix("")) for file in files]
    return frame_of_entries(
        path, [_cif_entry(id, partial(_open_file, file)) for id, file in zip(ids, files, strict=True)]
    )


def _cif_entry(id: str, open_: Callable[[], IO[bytes]]) -> Entry:
    def find() -> list[Crystal | str]:
        try:
            with open_() as stream:
                content = stream.read(LARGEST + 1)
        except RuntimeError as error:  # in an archive: encrypted, or packed in a way that Python does not know
            return [f"cannot be unpacked: {error}"]
        except OSError as error:
            return [f"cannot be read: {error.strerror or error}"]
        if len(content) > LARGEST:
            return [f"larger than {LARGEST // 2**20} MiB"]
        return crystals_in_cif(content.decode("utf-8", errors="replace"), id)

    return Entry(id, find)


def _open_file(path: Path) -> IO[bytes]:
    """Open a file; what else has the name of one, such as a pipe, would never end."""
    if path.exists() and not path.is_file():
        raise OSError("is no file")
    return path.open("rb")


def _read_zip(path: Path) -> pd.DataFrame:
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if name.lower().endswith(".cif"))
            names = [name for name in names if not name.startswith("__MACOSX/")]
            if not names:
                raise KinoflowError(f"{path}: no CIF files in this archive; give one with files *.cif")
            return frame_of_entries(path, [_cif_entry(name[:-4], partial(archive.open, name)) for name in names])
    except (zipfile.BadZipFile, zlib.error) as error:
        raise KinoflowError(f"{path}: cannot be read as a zip archive ({error}); pack it again") from error


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        if path.name.lower().endswith(".gz"):
            _check_growth(path)
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
        text = values["cif"]
        find = partial(crystals_in_cif, text, id) if isinstance(text, str) else partial(list, ["no CIF in this row"])
        entries.append(Entry(id, find, values))
    return frame_of_entries(path, entries)


def _check_growth(path: Path) -> None:
    """Raise a ValueError if a packed file is so small beside its content that it was made to fill the memory."""
    most, unpacked = MOST_GROWTH * path.stat().st_size + LARGEST, 0
    with gzip.open(path) as stream:
        while part := stream.read(_AT_ONCE):
            unpacked += len(part)
            if unpacked > most:
                raise ValueError(f"its content is more than {MOST_GROWTH} times larger than the file; unpack it first")


def _read_extxyz(path: Path) -> pd.DataFrame:
    entries = []
    for number, (found, fields) in enumerate(frames_of(path.read_text("utf-8", errors="replace")), start=1):
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
    found = dict.fromkeys(ENERGIES, float("nan"))
    for ours, theirs in ENERGIES.items():
        with suppress(TypeError, ValueError):  # nothing, or text instead of a number: the energy is not known
            found[ours] = float(values.get(theirs, values.get(ours)))
    return found


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".cif": lambda path: frame_of_entries(path, [_cif_entry(path.stem, partial(_open_file, path))]),
    ".zip": _read_zip,
    ".extxyz": _read_extxyz,
    ".xyz": _read_extxyz,
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".parquet": _read_parquet,
}
