"""How many of the generated structures could exist: atoms apart, and charges that can be balanced."""

from pipeline.config import Strict
from pipeline.crystals.metrics import CrystalEvidence, conditions, evidence_of, valid_by_peers
from pipeline.scoring.intervals import rate
from pipeline.scoring.subject import Subject

__all__ = ["Options", "conditions", "measure", "score"]

HEADLINE = "validity"


class Options(Strict):
    """None: the rules are those of the published figures."""


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return the percentages of all generated structures that are valid; a sample that could not be decoded is not."""
    return measure(evidence_of(subject), options, subject.seed)


def measure(evidence: CrystalEvidence, options: Options, seed: int) -> dict[str, float]:
    """Return the validity of structures, of compositions, and of both at once, by our rules and as the peers count.

    Compositions are tested by the oxidation states of SMACT 2014, and, as `default`, of SMACT 4. The columns with
    `peers` have the code of published figures (:mod:`pipeline.crystals.peers`). There, a valid structure also has a
    fingerprint.
    """
    rows = evidence.described
    columns = {
        "structural_validity": rows["structural_valid"],
        "composition_validity": rows["composition_valid"],
        "composition_validity_default": rows["composition_valid_default"],
        HEADLINE: rows["structural_valid"] & rows["composition_valid"],
        "structural_validity_peers": rows["structural_valid_peers"],
        "composition_validity_peers": rows["composition_valid_peers"],
        "validity_peers": valid_by_peers(rows),
    }
    rates = (rate(name, int(valid.sum()), len(rows)) for name, valid in columns.items())
    return {name: value for one in rates for name, value in one.items()}
