"""How many of the generated structures could exist: atoms apart, and charges that can be balanced."""

from pipeline.config import Strict
from pipeline.crystals.metrics import CrystalEvidence, conditions, evidence_of
from pipeline.scoring.intervals import rate
from pipeline.scoring.subject import Subject

__all__ = ["Options", "conditions", "measure", "score"]

HEADLINE = "structural_validity"


class Options(Strict):
    """None: the rules are those of the published figures."""


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return the percentages of all generated structures that are valid; a sample that could not be decoded is not."""
    return measure(evidence_of(subject), options, subject.seed)


def measure(evidence: CrystalEvidence, options: Options, seed: int) -> dict[str, float]:
    """Return the validity of structures, and of compositions by the oxidation states of SMACT 2014 and of SMACT 4."""
    rows = evidence.assessed
    return {
        **rate(HEADLINE, int(rows["structural_valid"].sum()), len(rows)),
        **rate("composition_validity", int(rows["composition_valid"].sum()), len(rows)),
        **rate("composition_validity_default", int(rows["composition_valid_default"].sum()), len(rows)),
    }
