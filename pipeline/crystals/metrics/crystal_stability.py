"""How many of the generated structures are stable, unlike each other, and unlike the training set."""

import pandas as pd

from pipeline.config import Strict
from pipeline.crystals.metrics import CrystalEvidence, conditions, evidence_of
from pipeline.scoring.intervals import rate
from pipeline.scoring.subject import Subject

__all__ = ["Options", "conditions", "measure", "score"]


class Options(Strict):
    """None: what is stable was decided where the structures were assessed."""


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return rates in percent, counts, and what one stable structure costs."""
    return measure(evidence_of(subject), options, subject.seed)


def measure(evidence: CrystalEvidence, options: Options, seed: int) -> dict[str, float]:
    """Return the rates of what was asked for.

    Stability is a share of the structures that were to be relaxed, including those that failed, did not converge, or
    have no reference. If all are relaxed, it is a share of all generated structures, as in the paper. S.U.N. is a share
    of the same structures. Uniqueness and novelty are shares of all generated structures.
    """
    rows = evidence.assessed
    attempted = rows[rows["attempted"]]
    scores: dict[str, float] = {}
    for flag, name in (("unique", "uniqueness"), ("novel", "novelty")):
        if flag in rows:
            scores |= rate(name, int(rows[flag].sum()), len(rows))
    scores["relaxed"] = float(len(attempted))
    scores |= rate("convergence_rate", int(attempted["converged"].sum()), len(attempted))
    if "stable" in rows:
        scores |= _stability(attempted, evidence.evaluations)
    return scores | _dft(attempted)


def _stability(attempted: pd.DataFrame, evaluations: float | None) -> dict[str, float]:
    total, stable = len(attempted), int(attempted["stable"].sum())
    scores = {
        **rate("stability_rate", stable, total),
        **rate("metastability_rate", int(attempted["metastable"].sum()), total),
        "no_reference": float((attempted["hull_reason"] != "").sum()),
    }
    if "sun" in attempted:
        scores |= rate("sun_rate", int(attempted["sun"].sum()), total)
    if evaluations is not None and stable:
        scores["evaluations_per_stable"] = evaluations * total / stable
    known = attempted["energy_above_hull"].dropna()
    return scores | ({"median_energy_above_hull": float(known.median())} if len(known) else {})


def _dft(attempted: pd.DataFrame) -> dict[str, float]:
    """Return the stability by density functional theory, if there are such energies."""
    if "dft_energy_above_hull" not in attempted or attempted["dft_energy_above_hull"].isna().all():
        return {}
    known = attempted["dft_energy_above_hull"].notna()
    stable = attempted.loc[known, "dft_stable"].astype(bool)
    return {"dft_calculated": float(known.sum()), **rate("dft_stability_rate", int(stable.sum()), len(attempted))}
