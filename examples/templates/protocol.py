"""A protocol: how many of the structures are at most 0.05 eV/atom above the hull. Copy to
pipeline/crystals/protocols/near.py, and change it. It runs by its presence: every protocol has rows in the table.
"""

from dataclasses import replace

from pipeline.config import Strict
from pipeline.crystals.protocols import ProtocolEvidence, Rate

LIMIT = 0.05  # eV/atom


class Options(Strict):
    """None: a protocol has no options."""


def rates(evidence: ProtocolEvidence) -> list[Rate]:
    """Return the rate, or what is missing to compute it."""
    above = evidence.above_hull()
    rate = Rate(
        name="near the hull",
        hull=evidence.hull,
        energy_model=evidence.energy_model,
        threshold=f"at most {LIMIT} eV/atom",
        matcher="none: copies count",
        denominator="all structures",
        total=len(above),
    )
    if "energy_above_hull" not in evidence.assessed:
        return [replace(rate, missing="a hull")]
    return [replace(rate, hits=int((above <= LIMIT).sum()))]
