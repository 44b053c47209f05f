"""Crystals of a few atoms that need no file."""

from typing import Any

import numpy as np
import pandas as pd

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, frame_of, row_of


def crystal(id: str, length: float, atoms: dict[tuple[float, float, float], int], **changes: Any) -> Crystal:
    """Return a crystal with a cubic cell, unless `lengths` or `angles` are given."""
    lengths = np.asarray(changes.get("lengths", [length] * 3), dtype=np.float64)
    angles = np.asarray(changes.get("angles", [90.0] * 3), dtype=np.float64)
    return Crystal(id, lengths, angles, np.array(list(atoms.values())), np.array(list(atoms), dtype=np.float64))


def caesium_chloride(id: str = "CsCl", length: float = 4.12, numbers: tuple[int, int] = (55, 17)) -> Crystal:
    """Return a crystal with one atom at the corner and one in the middle of a cube."""
    return crystal(id, length, {(0, 0, 0): numbers[0], (0.5, 0.5, 0.5): numbers[1]})


def rock_salt(id: str = "NaCl", length: float = 3.99, numbers: tuple[int, int] = (11, 17)) -> Crystal:
    """Return a crystal of two atoms in the primitive cell of rock salt."""
    return crystal(id, length, {(0, 0, 0): numbers[0], (0.5, 0.5, 0.5): numbers[1]}, angles=[60.0] * 3)


def overlapping(id: str = "overlap") -> Crystal:
    """Return a crystal with two atoms in one place."""
    return crystal(id, 4.0, {(0, 0, 0): 11, (0.01, 0, 0): 17})


def table(*rows: Crystal | Row) -> pd.DataFrame:
    """Return a crystal frame of crystals and finished rows."""
    return frame_of([row_of(row) if isinstance(row, Crystal) else row for row in rows], CRYSTAL_COLUMNS)
