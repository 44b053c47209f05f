"""How symmetric the generated structures are, before and after relaxation, and how many elements they are made of."""

from collections import Counter
from collections.abc import Iterable

import pandas as pd

from pipeline.config import Strict
from pipeline.crystals.metrics import CrystalEvidence, conditions, evidence_of
from pipeline.crystals.symmetry import UNKNOWN
from pipeline.scoring.intervals import rate
from pipeline.scoring.subject import Subject

__all__ = ["Options", "conditions", "measure", "score"]


class Options(Strict):
    """None: the tolerances of symmetry are fixed, see :mod:`pipeline.crystals.symmetry`."""


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return the share of structures in P 1, numbers of space groups and elements, and distances to the test set."""
    return measure(evidence_of(subject), options, subject.seed)


def measure(evidence: CrystalEvidence, options: Options, seed: int) -> dict[str, float]:
    """Return what is known of the symmetry of generated and, with `relaxed_` before the name, of relaxed structures.

    `p1_rate` is a share of the structures whose space group could be found; `space_groups_known` counts them.
    `space_group_distance` is the Jensen-Shannon distance of their space groups to those of the test structures, from 0
    (the same shares) to 1 (no group in common); with few structures it is above 0 even if both have the same source.
    `distinct_elements` counts the elements in all generated structures.
    """
    described = evidence.described
    test = None if evidence.test is None else evidence.test["space_group"]
    scores = _symmetry(described["space_group"], test)
    atoms = described.loc[described["reason"] == "", "numbers"]
    scores["distinct_elements"] = float(len({number for numbers in atoms for number in numbers}))
    if "space_group_relaxed" in evidence.assessed:
        relaxed = _symmetry(evidence.assessed["space_group_relaxed"], test)
        scores |= {f"relaxed_{name}": value for name, value in relaxed.items()}
    return scores


def distance(first: Iterable[int], second: Iterable[int]) -> float:
    """Return the Jensen-Shannon distance of two samples of space groups; both must have some.

    sqrt((KL(p | m) + KL(q | m)) / 2) with the shares p and q, their mean m, and logarithms to the base 2.
    """
    from scipy.spatial.distance import jensenshannon

    one, other = Counter(first), Counter(second)
    groups = sorted(one.keys() | other.keys())
    return float(jensenshannon([one[group] for group in groups], [other[group] for group in groups], base=2))


def _symmetry(groups: pd.Series, test: pd.Series | None) -> dict[str, float]:
    known = groups[groups != UNKNOWN]
    scores = {
        **rate("p1_rate", int((known == 1).sum()), len(known)),
        "space_groups": float(known.nunique()),
        "space_groups_known": float(len(known)),
    }
    of_test = None if test is None else test[test != UNKNOWN]
    if len(known) and of_test is not None and len(of_test):
        scores["space_group_distance"] = distance(known, of_test)
    return scores
