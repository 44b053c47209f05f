"""Tables of crystals: one row per crystal, arrays as lists, a reason where there is no crystal."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.crystals.crystal import Crystal
from pipeline.store.parquet import read_table

Row = dict[str, Any]
LISTS = ("lengths", "angles", "numbers", "fractions")
CRYSTAL_COLUMNS = dict.fromkeys(("id", "reason", "formula"), "str") | dict.fromkeys(LISTS, "list")


def row_of(crystal: Crystal, **values: Any) -> Row:
    """Return the row of a crystal, with further columns."""
    arrays = {name: getattr(crystal, name).ravel().tolist() for name in LISTS}
    return {"id": crystal.id, "reason": "", "formula": formula_of(crystal.composition), **arrays, **values}


def rejected_row(id: str, reason: str, **values: Any) -> Row:
    """Return the row of something that is not a crystal, with the reason."""
    return {"id": id, "reason": reason, "formula": "", **{name: [] for name in LISTS}, **values}


def crystal_of(row: Mapping[str, Any]) -> Crystal | None:
    """Return the crystal of a row, or None if it has no atoms; if the row has a reason, use only its composition."""
    if row["reason"] and not len(row["numbers"]):
        return None
    lengths, angles, fractions = (np.asarray(row[key], dtype=np.float64) for key in ("lengths", "angles", "fractions"))
    return Crystal(row["id"], lengths, angles, np.asarray(row["numbers"], dtype=np.int64), fractions.reshape(-1, 3))


def crystals_of(frame: pd.DataFrame) -> list[Crystal | None]:
    """Return the crystals of all rows."""
    return [crystal_of(row) for row in records_of(frame)]


def records_of(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a frame as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def formula_of(composition: Mapping[int, int]) -> str:
    """Return the formula, such as Na4Cl4, of a composition (numbers of atoms by Z)."""
    from pymatgen.core import Composition, Element

    return Composition({Element.from_Z(z): count for z, count in composition.items()}).formula.replace(" ", "")


def frame_of(rows: Iterable[Row], columns: Mapping[str, str]) -> pd.DataFrame:
    """Return rows as a frame with the given columns and types, in their order; this also works without rows."""
    frame = pd.DataFrame(list(rows), columns=list(columns))
    return frame.astype({name: kind for name, kind in columns.items() if kind != "list"})


def joined(files: Iterable[Path], columns: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of several files as one frame; it is written with the same bytes as if it had been one file."""
    rows = [row for file in files for row in records_of(read_table(file, columns)[list(columns)])]
    lists = [name for name, kind in columns.items() if kind == "list"]
    return frame_of([row | {name: list(row[name]) for name in lists} for row in rows], columns)
