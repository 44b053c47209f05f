"""The stage that describes structures one by one: validity, density, fingerprints."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.config import Config
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.fingerprints import Fingerprinter
from pipeline.crystals.settings import settings_of
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystals_of
from pipeline.crystals.validity import composition_valid, structural_valid
from pipeline.crystals.workers import run_tasks_once
from pipeline.errors import KinoflowError
from pipeline.store.fingerprint import fingerprint
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import write_provenance

NOTHING: Row = {
    "atoms": 0,
    "elements": 0,
    "density": float("nan"),
    "structural_valid": False,
    "composition_valid": False,
    "composition_valid_default": False,
    "composition_fingerprint": [],
    "structure_fingerprint": [],
    "fingerprint_reason": "",
}


def describe(
    config: Config,
    experiment: str,
    *,
    crystals: Path,
    split: str | None,
    output: Path,
    journal: Path | None = None,
) -> None:
    """Write the description of every crystal of a table, or of the usable ones of a split.

    With the folder of a `journal`, work that was stopped goes on with the next crystal.
    """
    frame = read_table(crystals, [*CRYSTAL_COLUMNS, *(["split"] if split else [])])
    if split:
        frame = frame[(frame["split"] == split) & (frame["reason"] == "")].reset_index(drop=True)
        if frame.empty:
            raise KinoflowError(f"{crystals}: no usable structure in the split {split!r}; prepare more data")
    settings = settings_of(config, experiment)
    what = {"seconds": settings.seconds, "split": split}
    finished = Journal(journal, fingerprint(what, [crystals], "pipeline.crystals.describe")) if journal else None
    write_table(output, describe_rows(frame, settings.workers, settings.seconds, finished))
    write_provenance([output], what, config.seed, [crystals])
    if finished:
        finished.remove()


def describe_rows(frame: pd.DataFrame, workers: int, seconds: float, finished: Journal | None = None) -> pd.DataFrame:
    """Return the frame with the columns of :data:`NOTHING`; a structure that takes too long costs only its own values.

    A row with a reason gets no fingerprint, and is not structurally valid; its composition counts if it has one.
    """
    rows: list[Row] = [{**NOTHING, "fingerprint_reason": reason} for reason in frame["reason"]]
    reasons, crystals = list(frame["reason"]), crystals_of(frame)
    usable = [place for place, crystal in enumerate(crystals) if crystal is not None]
    items = [crystals[place] for place in usable]
    run = partial(run_tasks_once, finished=finished, workers=workers, seconds=seconds)
    for item, outcome in run(properties, items, label="validity"):
        place = usable[item]
        rows[place] |= outcome.value or {}
        reasons[place] = reasons[place] or outcome.reason or rows[place]["reason"]
        if reasons[place]:
            rows[place] |= {"fingerprint_reason": reasons[place], "structural_valid": False}
    usable = [place for place in usable if not reasons[place]]
    items = [crystals[place] for place in usable]
    for item, done in run(fingerprints, items, label="fingerprints", initialise=fingerprinter_without_warnings):
        rows[usable[item]] |= done.value or {"fingerprint_reason": done.reason}
    described = pd.DataFrame(rows, columns=list(NOTHING), index=frame.index)
    types = {name: type(value) for name, value in NOTHING.items() if not isinstance(value, list)}
    return pd.concat([frame.assign(reason=reasons), described.astype(types)], axis=1)


def properties(crystal: Crystal) -> Row:
    """Return what needs no fingerprint, and the reason if there is no such cell."""
    composition = crystal.composition
    values: Row = {
        "reason": "",
        "atoms": len(crystal.numbers),
        "elements": len(composition),
        "composition_valid": composition_valid(composition, "smact14"),
        "composition_valid_default": composition_valid(composition, "default"),
    }
    try:
        density = float(crystal.structure().density)
    except ValueError as error:
        return {**values, "reason": f"failed: {error}"}
    return {**values, "density": density, "structural_valid": structural_valid(crystal)}


def fingerprinter_without_warnings() -> Fingerprinter:
    """Return what a worker needs; its libraries have a remark on nearly every structure, which are not shown."""
    warnings.simplefilter("ignore")
    return Fingerprinter.load()


def fingerprints(fingerprinter: Fingerprinter, crystal: Crystal) -> dict[str, Any]:
    """Return both fingerprints of a crystal."""
    return {
        "composition_fingerprint": fingerprinter.of_composition(crystal.composition).tolist(),
        "structure_fingerprint": fingerprinter.of_structure(crystal).tolist(),
    }
