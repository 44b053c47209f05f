"""Protocols by name, one a file: under which choices a rate of stable, unique and novel crystals (S.U.N.) is measured.

A rate means nothing without five choices: the hull, the energy model, the threshold, the matcher and the denominator.
A protocol has them as its authors do. If something that it needs is not at hand, its rate is not computed, and says
what is missing. Beside it may stand a rate `at hand`, with what there is in place of what is missing, and named so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from pipeline.crystals.crystal import Crystal


@dataclass(frozen=True)
class ProtocolEvidence:
    """What is known of the crystals of a run.

    `crystals` has the relaxed crystal of each row of `assessed`, or None. `train` are the structures that new ones are
    compared with, if there are any. `hull` and `energy_model` say what the energies in `assessed` are.
    """

    assessed: pd.DataFrame
    crystals: Sequence[Crystal | None]
    train: Sequence[Crystal] | None
    hull: str
    energy_model: str
    workers: int = 1
    seconds: float = 60

    def above_hull(self) -> pd.Series:
        """Return the energies above the hull (eV/atom); NaN where they are not known, or were not asked for."""
        return self.assessed.get("energy_above_hull", pd.Series(float("nan"), index=self.assessed.index))

    def lacks(self) -> str:
        """Return what a rate at hand lacks: a hull, or known structures."""
        missing = [] if "energy_above_hull" in self.assessed else ["a hull"]
        return ", ".join([*missing, *(["known structures to compare with"] if self.train is None else [])])


@dataclass(frozen=True)
class Rate:
    """A rate under five choices, in words: `hits` of `total`, or what is `missing` to compute it."""

    name: str
    hull: str
    energy_model: str
    threshold: str
    matcher: str
    denominator: str
    hits: int = 0
    total: int = 0
    missing: str = ""
