"""LeMat-GenBench's SUN and MetaSUN (arXiv 2512.04562), by the code of the benchmark.

Source: LeMaterial/lemat-genbench, `src/lemat_genbench/metrics/sun_metric.py` and `benchmarks/sun_benchmark.py` (at most
0 eV/atom, and above 0 up to 0.1; first the stable ones, then the unique ones among these, then the novel ones),
`src/config` (the mean of ORB v3, MACE and UMA, each above the hull of its own energies; BAWL fingerprints, or
pymatgen's StructureMatcher) and `scripts/run_benchmarks.py` (a share of the structures that pass its test of validity).

The hulls are the data set LeMaterial/LeMat-Bulk-MLIP-Hull of Hugging Face, the known structures LeMaterial/LeMat-Bulk.
Neither has a published checksum to fetch it by, and UMA's weights are given on request only.
"""

from dataclasses import replace

import numpy as np

from pipeline.config import Strict
from pipeline.crystals.kinds import alike, unique_and_novel
from pipeline.crystals.protocols import ProtocolEvidence, Rate

BANDS = {"SUN": (-np.inf, 0.0), "MetaSUN": (0.0, 0.1)}  # eV/atom; above the first, at most the second
WORDS = {"SUN": "at most 0 eV/atom", "MetaSUN": "above 0, at most 0.1 eV/atom"}


class Options(Strict):
    """None: a protocol has no options."""


def rates(evidence: ProtocolEvidence) -> list[Rate]:
    """Return their rates, which are not computed, and the rates with our hull, energies and known structures."""
    rows = evidence.assessed
    valid = (rows["relaxed"] & rows["structural_valid"] & rows["composition_valid"]).to_numpy(dtype=bool)
    above = evidence.above_hull().to_numpy()
    found = []
    for name, (low, high) in BANDS.items():
        theirs = Rate(
            name=name,
            hull="LeMat-Bulk, one hull for each model",
            energy_model="mean of ORB v3, MACE-MP and UMA",
            threshold=WORDS[name],
            matcher="BAWL fingerprints; novel against LeMat-Bulk",
            denominator="all that pass its validity test",
            missing="LeMat-Bulk and its hulls, UMA, BAWL fingerprints",
        )
        at_hand = replace(
            theirs,
            name=f"{name} at hand",
            hull=evidence.hull,
            energy_model=evidence.energy_model,
            matcher="pymatgen's StructureMatcher; novel against the training set",
            denominator="all that were to be relaxed and are valid by structure and composition",
            total=int(valid.sum()),
            missing=evidence.lacks(),
        )
        if not at_hand.missing:
            stable = set(np.flatnonzero(valid & (above > low) & (above <= high)).tolist())
            at_hand = replace(at_hand, hits=len(unique_and_novel(evidence, stable, stable, alike)))
        found += [theirs, at_hand]
    return found
