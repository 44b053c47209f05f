"""How far the densities and the numbers of elements of generated structures are from those of the test set."""

import numpy as np
from pydantic import Field

from pipeline.config import Strict
from pipeline.crystals.metrics import CrystalEvidence, conditions, evidence_of, valid_by_peers
from pipeline.scoring.subject import Subject

__all__ = ["Options", "conditions", "measure", "score"]


class Options(Strict):
    """How many structures are compared with the test set."""

    samples: int = Field(1000, ge=1, description="valid structures, drawn at random; all of them if there are fewer")


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return the Wasserstein distances, and how many structures they come from."""
    return measure(evidence_of(subject), options, subject.seed)


def measure(evidence: CrystalEvidence, options: Options, seed: int) -> dict[str, float]:
    """Return the distances of density (g/cm3) and number of elements; only the count if no structure is valid.

    As in Xie et al. (2022): a structure is valid here if it is by structure and by composition, as the peers count,
    and has a fingerprint. Test structures that could not be described have no density and are left out. If there are
    any, the number of test structures that were used is returned as well.
    """
    from scipy.stats import wasserstein_distance

    if evidence.test is None:
        return {}
    rows = evidence.described
    valid = rows[valid_by_peers(rows)]
    count = min(options.samples, len(valid))
    counted = {"wasserstein_samples": float(count)}
    test = evidence.test[(evidence.test["reason"] == "") & evidence.test["density"].notna()]
    if len(test) < len(evidence.test):
        counted["wasserstein_test_structures"] = float(len(test))
    if count == 0 or test.empty:
        return counted
    drawn = valid.iloc[np.sort(np.random.default_rng(seed).choice(len(valid), count, replace=False))]
    return {
        "wasserstein_density": float(wasserstein_distance(drawn["density"], test["density"])),
        "wasserstein_elements": float(wasserstein_distance(drawn["elements"], test["elements"])),
        **counted,
    }
