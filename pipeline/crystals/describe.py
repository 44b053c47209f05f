"""The stage that describes structures one by one: validity, density, fingerprints."""

import warnings
from functools import partial
from typing import Any

import pandas as pd

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.fingerprints import Fingerprinter
from pipeline.crystals.table import Row, crystals_of
from pipeline.crystals.validity import composition_valid, structural_valid
from pipeline.crystals.workers import run_tasks_once
from pipeline.store.journal import Journal

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


def describe_rows(frame: pd.DataFrame, workers: int, seconds: float, finished: Journal | None = None) -> pd.DataFrame:
    """Return the frame with the columns of :data:`NOTHING`; a structure that takes too long loses only its own values.

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
    """Return the values that need no fingerprint, and the reason if the cell cannot exist."""
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
    """Return the fingerprinter of a worker; silence its libraries, which warn about nearly every structure."""
    warnings.simplefilter("ignore")
    return Fingerprinter.load()


def fingerprints(fingerprinter: Fingerprinter, crystal: Crystal) -> dict[str, Any]:
    """Return both fingerprints of a crystal."""
    return {
        "composition_fingerprint": fingerprinter.of_composition(crystal.composition).tolist(),
        "structure_fingerprint": fingerprinter.of_structure(crystal).tolist(),
    }
