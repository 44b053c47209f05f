"""The long parts of an evaluation, so that a later call goes on where one was killed, and copies cost nothing.

Each part has a journal in one folder, which is there until the evaluation is finished. A journal of other structures,
settings, code or packages is of no use, and starts again. Exact copies of a crystal are described and relaxed once.
"""

import importlib.metadata
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.config import Crystals
from pipeline.crystals.crystal import Integers
from pipeline.crystals.describe import describe_rows
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.kept_descriptions import PACKAGES, hash_of, keys_of
from pipeline.crystals.relaxation import relax_table
from pipeline.store.code import code_hash
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import settings_hash


def journal_of(folder: Path, part: str, module: str, *made_from: object) -> Journal:
    """Return the journal of a part that a module computes from the given values."""
    packages = {name: importlib.metadata.version(name) for name in PACKAGES}
    work = {"part": part, "code": code_hash(module), "packages": packages, "made_from": made_from}
    return Journal(folder / part, settings_hash(work))


def describe(frame: pd.DataFrame, settings: Crystals, folder: Path, part: str = "description") -> pd.DataFrame:
    """Return the description of all rows of a crystal frame."""
    rows, places = distinct(frame)
    finished = journal_of(folder, part, "pipeline.crystals.describe", hash_of(rows), settings.seconds)
    return _for_all(describe_rows(rows, settings.workers, settings.seconds, finished), places, frame["id"])


def relax(described: pd.DataFrame, count: int, settings: Crystals, seed: int, folder: Path) -> pd.DataFrame:
    """Return the relaxed structures of the first `count` described ones."""
    rows, places = distinct(described[:count])
    given, output = folder / "distinct.parquet", folder / "relaxed.parquet"
    write_table(given, rows)
    relax_table(
        settings.relaxation.model_copy(update={"count": len(rows)}),
        seed,
        model=EnergyModel.of(settings.energy_model),
        crystals=given,
        journal=folder / "relaxation",
        output=output,
        keep_journal=True,
    )
    return _for_all(read_table(output), places, described["id"][:count])


def distinct(frame: pd.DataFrame) -> tuple[pd.DataFrame, Integers]:
    """Return the first row of each crystal, and for all rows which of these has the same crystal and reason."""
    first: dict[tuple[str, str], int] = {}
    keys = zip(keys_of(frame), frame["reason"], strict=True)
    places = np.array([first.setdefault(key, len(first)) for key in keys], dtype=np.int64)
    chosen = np.unique(places, return_index=True)[1]
    return frame.iloc[chosen].reset_index(drop=True), places


def _for_all(rows: pd.DataFrame, places: Integers, ids: pd.Series) -> pd.DataFrame:
    return rows.iloc[places].reset_index(drop=True).assign(id=ids.to_numpy())
