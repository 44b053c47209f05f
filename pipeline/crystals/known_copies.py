"""Which crystals are copies of known ones besides the training set.

Known are crystals of the Materials Project that are on this machine anyway: the other splits of the data set, and sets
of the catalogue that are in the cache or the mirror. A user may name other sets and files.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pipeline.config import Fetching
from pipeline.crystals.comparing import Library, Question
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.matching import reduced_formula
from pipeline.crystals.reference_candidates import read_known
from pipeline.crystals.table import CRYSTAL_COLUMNS, crystal_of, crystals_of, records_of
from pipeline.fetch.fetching import available, fetch_by_name, find
from pipeline.fetch.resource import mirror_directory
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table

SETS = ("mp88k", "matbench_dielectric")  # of the catalogue, of crystals of the Materials Project


class KnownSet(NamedTuple):
    """Known crystals, and what to call them."""

    name: str
    crystals: list[Crystal]


def known_sets(data: Fetching, rows: Path | None, chosen: Sequence[str] | None) -> list[KnownSet]:
    """Return known crystals besides the training set, by the names of sets of the catalogue and files.

    None: all that are at hand.
    """
    cache, mirror = Path(data.cache), mirror_directory(Path(data.mirror) if data.mirror else None)
    sets, order = list[KnownSet](), list[str](data.order)
    if chosen is None:
        sets, order = _other_splits(rows), ["mirror"]
        found = {name: [available(file, cache, order, mirror) for file in find(name)] for name in SETS}
        chosen = [name for name, files in found.items() if all(file.source for file in files)]
    for name in chosen:
        path = Path(name)
        files = [path] if path.exists() else fetch_by_name(name, cache, order, mirror, data.checksums)
        sets.append(KnownSet(name, [one.crystal for file in files for one in read_known(name, file)]))
    return sets


def with_listed(
    assessed: pd.DataFrame,
    described: pd.DataFrame,
    relaxed: pd.DataFrame,
    known: Sequence[KnownSet],
    *,
    workers: int,
    seconds: float,
    finished: Journal | None = None,
) -> pd.DataFrame:
    """Return a table of structures with the column `listed_as`; the same as it is if nothing is known.

    As for novelty, the relaxed structure is compared if it has an energy, and the generated one if not.
    """
    if not known:
        return assessed
    after = {row["id"]: row for row in records_of(relaxed) if math.isfinite(row["energy_per_atom"])}
    rows = zip(records_of(described), assessed["kind"], strict=True)
    crystals = [crystal_of(after.get(row["id"], row)) if kind else None for row, kind in rows]
    others = [crystal for one in known for crystal in one.crystals]
    return assessed.assign(listed_as=copied_from(crystals, others, workers=workers, seconds=seconds, finished=finished))


def copied_from(
    crystals: Sequence[Crystal | None],
    known: Sequence[Crystal],
    *,
    workers: int,
    seconds: float,
    finished: Journal | None = None,
) -> list[str]:
    """Return for each crystal the id of the first known one that it is a copy of, as matching decides; '' if none."""
    own = [crystal for crystal in crystals if crystal is not None]
    formulas = set(map(reduced_formula, own))
    known = [crystal for crystal in known if reduced_formula(crystal) in formulas]
    library = Library([*own, *known], workers=workers, seconds=seconds, finished=finished)
    ids = dict[int, str]()
    for crystal in known:
        ids.setdefault(library.number(crystal), crystal.id)
    others, questions = np.array(list(ids), dtype=int), dict[int, Question]()
    for crystal in own:
        cell = library.number(crystal)
        if cell not in library.reasons:
            questions.setdefault(cell, Question(cell, library.candidates(cell, others).tolist(), []))
    found = dict[int, str]()
    for question, outcome in library.answers([one for one in questions.values() if one.train]):
        if outcome.value is not None and (first := outcome.value[0]) is not None:
            found[question.cell] = ids[first]
    return ["" if crystal is None else found.get(library.number(crystal), "") for crystal in crystals]


def _other_splits(rows: Path | None) -> list[KnownSet]:
    if rows is None:
        return []
    frame = read_table(rows, [*CRYSTAL_COLUMNS, "split"])
    others = crystals_of(frame[(frame["split"] != "train") & (frame["reason"] == "")])
    return [KnownSet(f"{rows} outside of training", [crystal for crystal in others if crystal is not None])]
