"""MatterGen's S.U.N. (Zeni et al., Nature, 2025), by the code of its evaluation.

Source: microsoft/mattergen, `mattergen/evaluation`: `metrics/energy.py` (at most 0.1 eV/atom, a share of all submitted
jobs), `metrics/structure.py` and `utils/dataset_matcher.py` (unique: unlike all earlier unique ones, whether stable or
not; novel: unlike the reference set), `utils/structure_matcher.py` (the matcher), `reference/presets.py` (the reference
set of 845,997 structures from the Materials Project and Alexandria). Energies are MatterSim's by default, or those of
DFT in the paper.

The reference set, data-release/alex-mp/reference_MP2020correction.gz, is a database of pickled objects in Git LFS. This
program loads no pickle, so it cannot be used here.
"""

from dataclasses import replace

import numpy as np

from pipeline.config import Strict
from pipeline.crystals.disorder import alike_if_disordered
from pipeline.crystals.kinds import unique_and_novel
from pipeline.crystals.protocols import ProtocolEvidence, Rate

THRESHOLD = 0.1  # eV/atom


class Options(Strict):
    """None: a protocol has no options."""


def rates(evidence: ProtocolEvidence) -> list[Rate]:
    """Return their rate, which is not computed, and the rate with our hull, energies and known structures."""
    attempted = evidence.assessed["attempted"].to_numpy(dtype=bool)
    theirs = Rate(
        name="S.U.N.",
        hull="MatterGen's: Materials Project and Alexandria, 845,997 structures",
        energy_model="MatterSim v1, or DFT",
        threshold=f"at most {THRESHOLD} eV/atom",
        matcher="MatterGen's for disordered structures; novel against its reference set",
        denominator="all submitted",
        total=int(attempted.sum()),
        missing="MatterGen's reference set (reference_MP2020correction.gz, pickled) and MatterSim",
    )
    at_hand = replace(
        theirs,
        name="S.U.N. at hand",
        hull=evidence.hull,
        energy_model=evidence.energy_model,
        matcher="MatterGen's for disordered structures; novel against the training set",
        missing=evidence.lacks(),
    )
    if at_hand.missing:
        return [theirs, at_hand]
    stable = attempted & (evidence.above_hull().to_numpy() <= THRESHOLD)
    among = set(np.flatnonzero(attempted).tolist())
    new = unique_and_novel(evidence, among, set(np.flatnonzero(stable).tolist()), alike_if_disordered)
    return [theirs, replace(at_hand, hits=len(new))]
