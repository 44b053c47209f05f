"""The description of structures one by one: validity, density, symmetry, fingerprints."""

from collections.abc import Sequence
from functools import partial

import pandas as pd

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.fingerprints import FINGERPRINTS, fingerprints_of
from pipeline.crystals.peers import composition_valid_peers, structural_valid_peers
from pipeline.crystals.symmetry import UNKNOWN, space_group
from pipeline.crystals.table import Row, crystals_of
from pipeline.crystals.validity import composition_valid, structural_valid
from pipeline.crystals.workers import run_tasks
from pipeline.store.journal import Journal

STRUCTURAL = ("structural_valid", "structural_valid_peers")
COMPOSITION = ("composition_valid", "composition_valid_default", "composition_valid_peers")
NOTHING: Row = {
    **{"atoms": 0, "elements": 0, "density": float("nan")},
    **dict.fromkeys((*STRUCTURAL, *COMPOSITION), False),
    "space_group": UNKNOWN,
    **{name: [] for name in FINGERPRINTS},
    "fingerprint_reason": "",
}


def describe_rows(frame: pd.DataFrame, workers: int, seconds: float, finished: Journal | None = None) -> pd.DataFrame:
    """Return the frame with the columns of :data:`NOTHING`; a structure that takes too long loses only its own values.

    A row with a reason gets no fingerprint, and is not structurally valid; its composition counts if it has one.
    """
    rows: list[Row] = [{**NOTHING, "fingerprint_reason": reason} for reason in frame["reason"]]
    reasons, crystals = list(frame["reason"]), crystals_of(frame)
    usable = [place for place, crystal in enumerate(crystals) if crystal is not None]
    run = partial(run_tasks, workers=workers, seconds=seconds)
    whole, rest = [place for place in usable if not reasons[place]], {place for place in usable if reasons[place]}
    for item, done in run(all_of, [crystals[place] for place in whole], label="description", finished=finished):
        place = whole[item]
        rows[place] |= done.value or {"fingerprint_reason": done.reason}
        if done.value is None:
            rest.add(place)
    # The rest is quick, and another attempt may have another rest. So it is not kept among the finished.
    places = sorted(rest)
    for item, outcome in run(properties, [crystals[place] for place in places], label="validity"):
        rows[places[item]] |= outcome.value or {"reason": outcome.reason}
    for place in usable:
        if reason := reasons[place] or rows[place].get("reason"):
            reasons[place] = reason
            rows[place] |= {"fingerprint_reason": reason, **dict.fromkeys(STRUCTURAL, False)}
    return with_descriptions(frame, reasons, rows)


def with_descriptions(frame: pd.DataFrame, reasons: Sequence[str], rows: Sequence[Row]) -> pd.DataFrame:
    """Return the frame with other reasons, and with the columns of :data:`NOTHING` from rows."""
    described = pd.DataFrame(rows, columns=list(NOTHING), index=frame.index)
    types = {name: type(value) for name, value in NOTHING.items() if not isinstance(value, list)}
    return pd.concat([frame.assign(reason=list(reasons)), described.astype(types)], axis=1)


def all_of(crystal: Crystal) -> Row:
    """Return all values of a crystal; those of a cell that cannot exist have the reason, and no fingerprints."""
    values = properties(crystal)
    return values if values["reason"] else values | fingerprints_of(crystal)


def properties(crystal: Crystal) -> Row:
    """Return the values that need no fingerprint, and the reason if the cell cannot exist."""
    composition = crystal.composition
    values: Row = {
        "reason": "",
        "atoms": len(crystal.numbers),
        "elements": len(composition),
        "composition_valid": composition_valid(composition, "smact14"),
        "composition_valid_default": composition_valid(composition, "default"),
        "composition_valid_peers": composition_valid_peers(composition),
    }
    try:
        density = float(crystal.structure().density)
    except ValueError as error:
        return {**values, "reason": f"failed: {error}"}
    return values | {
        "density": density,
        "structural_valid": structural_valid(crystal),
        "structural_valid_peers": structural_valid_peers(crystal),
        "space_group": space_group(crystal),
    }
