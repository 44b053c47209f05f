"""The structures of Matbench's dielectric task: 4,764 of the Materials Project, split at random, without energies."""

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.crystals.cif import crystal_of_structure
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.dataset import (
    SHARES,
    CrystalOptions,
    distances,
    rows_of,
    shuffle,
    split_at_random,
    tokens_of,
    vocabulary,
)
from pipeline.crystals.reading import Entry, frame_of_entries
from pipeline.errors import KinoflowError

__all__ = ["CRYSTALS", "FILES", "Options", "distances", "read", "shuffle", "tokens_of", "vocabulary"]

CRYSTALS = True
FILES = ("matbench_dielectric/matbench_dielectric.json.gz",)


class Options(CrystalOptions):
    """How crystals become tokens, and how many of them are used."""


def read(options: Options, seed: int, cache: Path) -> pd.DataFrame:
    """Return the rows of all structures."""
    return rows_of(split_at_random(structures(cache / FILES[0]), seed, SHARES), options, seed)


def structures(path: Path) -> pd.DataFrame:
    """Read a column `structure` of pymatgen structures, keyed by the row's number."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            column: dict[str, dict[str, Any]] = json.load(stream)["structure"]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise KinoflowError(f"{path}: no table of structures ({error!r}); remove it and fetch it again") from error
    entries = [Entry(number, partial(_crystals, value, number)) for number, value in column.items()]
    return frame_of_entries(path, entries)


def _crystals(value: dict[str, Any], id: str) -> list[Crystal | str]:
    from pymatgen.core import Structure

    return [crystal_of_structure(Structure.from_dict(value), id)]
