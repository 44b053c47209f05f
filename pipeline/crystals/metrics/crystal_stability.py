"""How many of the generated structures are stable, unlike each other, and unlike the training set."""

import pandas as pd

from pipeline.config import Strict
from pipeline.crystals.energies import METASTABLE
from pipeline.crystals.metrics import CrystalEvidence, conditions, evidence_of
from pipeline.crystals.verdicts import STABLE, WITHIN
from pipeline.scoring.intervals import mean, rate
from pipeline.scoring.subject import Subject

__all__ = ["Options", "conditions", "measure", "score"]

OF_JUDGE = "energy_above_hull_"
RATES = {
    "stable": "stability_rate",
    "stable_converged": "stability_rate_converged",
    "stable_published": "stability_rate_published",
    "metastable": "metastability_rate",
    "sun": "sun_rate",
    "msun": "msun_rate",
}


class Options(Strict):
    """None: what is stable was decided where the structures were assessed."""


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return rates in percent, counts, and what one stable structure costs."""
    return measure(evidence_of(subject), options, subject.seed)


def measure(evidence: CrystalEvidence, options: Options, seed: int) -> dict[str, float]:
    """Return the rates of what was asked for.

    Stability is a share of the structures that were to be relaxed, including those that failed or have no reference. If
    all are relaxed, it is a share of all generated structures, as in the paper. A relaxation that reached its step
    limit counts by its energy, as in the paper; `stability_rate_converged` demands convergence as well. Metastable is
    at most 0.1 eV/atom above the hull. S.U.N. and M.S.U.N. are shares of the same structures. Uniqueness, novelty and
    copies of training structures are shares of all generated structures. Means and medians are over the structures that
    have the number, those `with_` it: relaxations that failed have none.
    """
    rows = evidence.assessed
    attempted = rows[rows["attempted"]]
    scores: dict[str, float] = {}
    for flag, name in (("unique", "uniqueness"), ("novel", "novelty")):
        if flag in rows:
            scores |= rate(name, int(rows[flag].sum()), len(rows))
    if "known_as" in rows:
        scores |= rate("copy_rate", int((rows["known_as"] != "").sum()), len(rows))
    if "listed_as" in rows:
        scores |= rate("listed_rate", int((rows["listed_as"] != "").sum()), len(rows))
    scores["relaxed"] = float(len(attempted))
    scores |= rate("convergence_rate", int(attempted["converged"].sum()), len(attempted))
    scores |= _typical(attempted["rmsd"], seed)
    if "stable" in rows:
        scores |= _stability(attempted, evidence.evaluations, seed) | _judges(attempted)
    return scores | _dft(attempted)


def _stability(attempted: pd.DataFrame, evaluations: float | None, seed: int) -> dict[str, float]:
    total, stable = len(attempted), int(attempted["stable"].sum())
    scores = dict[str, float]()
    for flag, name in RATES.items():
        if flag in attempted:
            scores |= rate(name, int(attempted[flag].sum()), total)
    if (attempted["verdict"] != "").any():
        scores |= rate("verdict_stable_rate", int((attempted["verdict"] == STABLE).sum()), total)
        scores |= rate("verdict_within_error_rate", int((attempted["verdict"] == WITHIN).sum()), total)
    scores["no_reference"] = float((attempted["hull_reason"] != "").sum())
    if evaluations is not None and stable:
        scores["evaluations_per_stable"] = evaluations * total / stable
    return scores | _typical(attempted["energy_above_hull"], seed)


def _typical(values: pd.Series, seed: int) -> dict[str, float]:
    """Return the mean and median of the known values of a column, and how many there are."""
    known, name = values.dropna(), str(values.name)
    scores = {f"with_{name}": float(len(known))} | mean(f"mean_{name}", known.tolist(), seed)
    return scores | ({f"median_{name}": float(known.median())} if len(known) else {})


def _judges(attempted: pd.DataFrame) -> dict[str, float]:
    """Return how often each judge agrees on whether a structure is metastable, of those that both have an energy of."""
    scores = dict[str, float]()
    for column in attempted:
        if str(column).startswith(OF_JUDGE):
            both = attempted[["energy_above_hull", column]].dropna() <= METASTABLE
            agree = int((both["energy_above_hull"] == both[column]).sum())
            scores |= rate(f"judge_agreement_{str(column).removeprefix(OF_JUDGE)}", agree, len(both))
    return scores


def _dft(attempted: pd.DataFrame) -> dict[str, float]:
    """Return the stability by density functional theory, if there are such energies."""
    if "dft_energy_above_hull" not in attempted or attempted["dft_energy_above_hull"].isna().all():
        return {}
    known = attempted["dft_energy_above_hull"].notna()
    stable = attempted.loc[known, "dft_stable"].astype(bool)
    return {"dft_calculated": float(known.sum()), **rate("dft_stability_rate", int(stable.sum()), len(attempted))}
