"""Whether generated structures are near test structures, and test structures near generated ones."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from pipeline.config import Strict
from pipeline.crystals.crystal import Floats
from pipeline.crystals.metrics import CrystalEvidence, conditions, evidence_of
from pipeline.scoring.intervals import rate
from pipeline.scoring.subject import Subject

_BLOCK = 1000  # generated structures whose distances are in memory at once

HEADLINE = "coverage_recall"

__all__ = ["Options", "conditions", "measure", "score"]


class Options(Strict):
    """What is near."""

    structure_cutoff: float = Field(0.4, gt=0, description="largest distance of the fingerprints of near structures")
    composition_cutoff: float = Field(10.0, gt=0, description="largest distance of those of near compositions")
    missing: Literal["zero", "refuse"] = Field(
        "zero",
        description="what counts for an entry of a fingerprint on which there is no data (He, Ne, Ar, At, Rn, Fr): "
        "zero, the mean, as the peers do; or the structure is near none",
    )


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return recall and precision of the test set's coverage, in percent."""
    return measure(evidence_of(subject), options, subject.seed)


def measure(evidence: CrystalEvidence, options: Options, seed: int) -> dict[str, float]:
    """Return recall and precision, with the numbers of fingerprints that they come from; nothing without a test set.

    As in Xie et al. (2022): a structure is near if the nearest structure fingerprint and the nearest composition
    fingerprint of the other set are within their cut-offs. These two may belong to different structures. A structure
    need not be valid. One without fingerprints is not near, but it counts: precision is a share of all generated
    structures, recall of the whole test set, including structures that could not be described. The numbers of
    structures whose composition fingerprints have missing entries are returned, too.
    """
    if evidence.test is None:
        return {}
    sides = (evidence.described, evidence.test)
    generated, test = (fingerprints_of(side, options.missing) for side in sides)
    incomplete = [sum(map(lacks_entries, side["composition_fingerprint"])) for side in sides]
    structure, composition = (nearest(ours, theirs) for ours, theirs in zip(generated, test, strict=True))
    near, reached = (
        (structure[side] <= options.structure_cutoff) & (composition[side] <= options.composition_cutoff)
        for side in (0, 1)
    )
    return {
        **rate(HEADLINE, int(reached.sum()), len(evidence.test)),
        **rate("coverage_precision", int(near.sum()), len(evidence.described)),
        "coverage_fingerprints": float(len(generated[0])),
        "coverage_test_fingerprints": float(len(test[0])),
        "coverage_missing_entries": float(incomplete[0]),
        "coverage_test_missing_entries": float(incomplete[1]),
    }


def fingerprints_of(described: pd.DataFrame, missing: str) -> tuple[Floats, Floats]:
    """Return the structure and the composition fingerprints of the structures that have both."""
    names = ("structure_fingerprint", "composition_fingerprint")
    usable = described[names[0]].map(len).astype(bool) & described[names[1]].map(len).astype(bool)
    if missing == "refuse":
        usable &= ~described[names[1]].map(lacks_entries).astype(bool)
    structure, composition = (
        np.array([np.nan_to_num(np.asarray(values, dtype=np.float64)) for values in described.loc[usable, name]])
        for name in names
    )
    return structure, composition


def lacks_entries(fingerprint: Sequence[float]) -> bool:
    """Return whether a fingerprint has entries on which there is no data."""
    return bool(np.isnan(np.asarray(fingerprint, dtype=np.float64)).any())


def nearest(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the distance of each point of either set to the nearest of the other; infinite if the other is empty."""
    from scipy.spatial.distance import cdist

    of_first, of_second = np.full(len(first), np.inf), np.full(len(second), np.inf)
    for start in range(0, len(first) if len(second) else 0, _BLOCK):
        distances = cdist(first[start : start + _BLOCK], second)
        of_first[start : start + _BLOCK] = distances.min(axis=1)
        of_second = np.minimum(of_second, distances.min(axis=0))
    return of_first, of_second
