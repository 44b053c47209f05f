"""The paper's protocol, which follows FlowMM (Miller et al., 2024): stable is below the hull.

M.S.U.N. is the rate at up to 0.1 eV/atom above the hull, counted in the same way.
"""

from dataclasses import replace

from pipeline.config import Strict
from pipeline.crystals.protocols import ProtocolEvidence, Rate


class Options(Strict):
    """None: a protocol has no options."""


def rates(evidence: ProtocolEvidence) -> list[Rate]:
    """Return S.U.N. and M.S.U.N. as they were decided where the structures were assessed."""
    rows = evidence.assessed
    attempted = rows[rows["attempted"]]
    rate = Rate(
        name="S.U.N.",
        hull=evidence.hull,
        energy_model=evidence.energy_model,
        threshold="below 0 eV/atom",
        matcher="pymatgen's StructureMatcher, kinds connected by chains; novel against the training set",
        denominator="all that were to be relaxed",
        total=len(attempted),
    )
    if missing := evidence.lacks():
        return [replace(rate, missing=missing)]
    found = [replace(rate, hits=int(attempted["sun"].sum()))]
    if "msun" in rows:
        looser = replace(rate, name="M.S.U.N.", threshold="at most 0.1 eV/atom")
        found.append(replace(looser, hits=int(attempted["msun"].sum())))
    return found
