"""Whether a predicted structure is the real one, by the rule of DiffCSP (Jiao et al., 2023) and its successors.

It is if the StructureMatcher of pymatgen says so with wide tolerances: 0.3 for lengths (as a share), 0.5 for sites (as
a share of the mean free length per atom) and 10 degrees for angles. The distance of two that match is the root mean
square of the displacements of their sites in units of (V / N)^(1/3), after both were scaled to one volume.

A structure that was predicted for one polymorph may be another one of them. So each prediction is also compared with
the other real structures of its reduced composition, for METRe ("match everyone to reference", Martirossyan et al.,
arXiv 2509.12178): a real structure is found if any prediction for its reduced composition matches it.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.peers import composition_valid_peers, structural_valid_peers
from pipeline.crystals.table import Row, crystals_of, frame_of, records_of
from pipeline.crystals.workers import run_tasks
from pipeline.store.journal import Journal

if TYPE_CHECKING:
    from pymatgen.analysis.structure_matcher import StructureMatcher

TOLERANCES: dict[str, Any] = {"stol": 0.5, "angle_tol": 10, "ltol": 0.3}
COLUMNS = {"target": "int64", "sample": "int64", "distance": "float64", "valid": "bool", "both_valid": "bool"}
COLUMNS |= {"own": "bool"}  # whether the structure was predicted for this target, or for another one of its composition
COLUMNS |= {"reason": "str"}  # why the prediction is no crystal, or why it could not be matched


class Match(NamedTuple):
    """The distance (NaN: no match), and whether the predicted structure, and both, pass the tests of validity.

    Structures that do not match are not tested: they count for nothing.
    """

    distance: float = math.nan
    valid: bool = False
    both_valid: bool = False


def match_predictions(
    predictions: pd.DataFrame,
    targets: Sequence[Crystal],
    *,
    workers: int,
    seconds: float,
    finished: Journal | None = None,
) -> pd.DataFrame:
    """Return a row for each prediction and its target, then for each and other targets of its reduced composition.

    They are matched in worker processes with a time limit per pair.
    """
    rows, pairs, places = list[Row](), list[tuple[Crystal, Crystal]](), list[int]()
    made = list(zip(records_of(predictions), crystals_of(predictions), strict=True))
    reduced = [_reduced(target) for target in targets]
    others = [
        [one for one, kind in enumerate(reduced) if kind == reduced[own] and one != own] for own in range(len(targets))
    ]
    for own in (True, False):
        for row, crystal in made:
            for target in [row["target"]] if own else others[row["target"]]:
                said = {"target": target, "sample": row["sample"], "own": own, "reason": row["reason"]}
                rows.append(Match()._asdict() | said)
                if crystal is not None and not row["reason"]:
                    places.append(len(rows) - 1)
                    pairs.append((crystal, targets[target]))
    work = run_tasks(match, pairs, workers=workers, seconds=seconds, label="matching", finished=finished)
    for item, outcome in work:
        matched = {"reason": outcome.reason} if outcome.value is None else Match(*outcome.value)._asdict()
        rows[places[item]] |= matched
    return frame_of(rows, COLUMNS)


def _reduced(crystal: Crystal) -> list[tuple[int, int]]:
    counts = crystal.composition
    return sorted((z, count // math.gcd(*counts.values())) for z, count in counts.items())


def match(pair: tuple[Crystal, Crystal]) -> Match:
    """Return whether a predicted structure matches the real one."""
    predicted, real = pair
    found = _matcher().get_rms_dist(predicted.structure(), real.structure())
    if found is None:
        return Match()
    valid = is_valid(predicted)
    return Match(float(found[0]), valid, valid and is_valid(real))


def is_valid(crystal: Crystal) -> bool:
    """Return whether both are valid by the peers' rules; the peers also refuse what they find no fingerprint of."""
    return composition_valid_peers(crystal.composition) and structural_valid_peers(crystal)


@cache
def _matcher() -> "StructureMatcher":
    from pymatgen.analysis.structure_matcher import StructureMatcher

    return StructureMatcher(**TOLERANCES)
