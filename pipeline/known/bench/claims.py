"""Claims about samplers, and what a bench says about each: supported, not supported, or not resolved.

A comparison takes rows that differ in one column only. For each distribution it is the mean logarithm of the ratio of
the errors. The interval of the ratio is over distributions.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.known.bench.errors import NEIGHBOURS, interval
from pipeline.known.bench.rows import CONDITIONS, CONTROL, FITTED, NONE, PLAIN

ALL = "all"
SUPPORTED, NOT_SUPPORTED, NOT_RESOLVED = "supported", "not supported", "not resolved"
ONE_ONLY = "no interval"  # of one distribution; the ratio is that of this one
RATIO = ("error_ratio", "error_ratio_low", "error_ratio_high")
_LEAST = 1e-12  # smaller errors are rounding
Measured = Mapping[str, Any]
Conditions = Mapping[str, Any]


@dataclass(frozen=True)
class Steps:
    """From how many steps on a row counts as one of many, and up to how many as one of few."""

    few: int
    many: int


@dataclass(frozen=True)
class Claim:
    """What is claimed: in `column`, the first value of each pair has a smaller error than the second.

    `where` says which rows are compared; `paper`: whether the paper claims it.
    """

    name: str
    says: str
    column: str
    pairs: tuple[tuple[str, str], ...]
    where: Callable[[Conditions, Steps], bool] = lambda row, steps: True
    paper: bool = True

    @property
    def differing(self) -> tuple[str, ...]:
        """The columns in which compared rows may differ."""
        return ("corrector", "weight") if self.column == "corrector" else (self.column,)


def _on_metric_paths(row: Conditions, steps: Steps) -> bool:
    return bool(row["path"] == "metric")


CLAIMS = (
    Claim(
        "velocity",
        "on metric paths the kinetic-optimal velocity makes smaller errors than Campbell's",
        "velocity",
        (("kinetic_optimal", "campbell"),),
        _on_metric_paths,
    ),
    Claim(
        "few_steps",
        "at few steps on metric paths, power infinity makes smaller errors than the kinetic-optimal velocity",
        "velocity",
        (("power_infinity", "kinetic_optimal"),),
        lambda row, steps: _on_metric_paths(row, steps) and row["NFE"] <= steps.few,
    ),
    Claim(
        "corrector",
        "at many steps a corrector makes errors smaller",
        "corrector",
        (("velocity", NONE),),
        lambda row, steps: row["NFE"] >= steps.many,
    ),
    Claim(
        "scheduler",
        "the kinetic-optimal scheduler makes smaller errors than the linear and the cubic one",
        "scheduler",
        (("kinetic_optimal", "linear"), ("kinetic_optimal", "cubic")),
    ),
    Claim(
        "step",
        "the exact step makes smaller errors than the always-valid one, and that smaller ones than Euler's",
        "step",
        (
            ("exact", "paper_always_valid"),
            ("paper_always_valid", "paper_euler"),
            ("always_valid", "paper_always_valid"),
        ),
    ),
    Claim(
        "grid",
        "a grid of equal jumps, or one fitted on other distributions, makes smaller errors than equal steps",
        "grid",
        (("equal_jumps", "uniform"), (FITTED, "uniform"), (FITTED, "equal_jumps")),
        paper=False,
    ),
    Claim(
        "redrawing",
        "at many steps remasking, or drawing tokens anew, makes errors smaller",
        "corrector",
        (("remask", NONE), ("refresh", NONE)),
        lambda row, steps: row["NFE"] >= steps.many,
        paper=False,
    ),
    Claim(
        "second_order",
        "at equal evaluations the second-order scheme makes smaller errors than the plain one of first order",
        "scheme",
        (("theta_trapezoidal", PLAIN),),
        paper=False,
    ),
    Claim(
        "confidence",
        "on mask paths, unmasking the surest tokens first makes smaller errors than a random order",
        "scheme",
        (("confidence", PLAIN),),
        paper=False,
    ),
    Claim(
        "control",
        "a velocity with a wrong sign makes larger errors; the bench sees nothing otherwise",
        "velocity",
        (("kinetic_optimal", CONTROL),),
        paper=False,
    ),
)


def verdicts(measured: Sequence[Measured], steps: Steps) -> Iterator[dict[str, Any]]:
    """Yield rows for each comparison: over all, for each path, and for each number of steps on it."""
    for claim in CLAIMS:
        for better, worse in claim.pairs:
            found = list(_compared(claim, better, worse, measured, steps))
            for measure in NEIGHBOURS:
                ratios = [(where, _log_ratios(one, other, measure)) for where, one, other in found]
                ratios = [(where, one) for where, one in ratios if one]
                if not ratios:
                    continue
                said = {"claim": claim.name, "smaller": better, "than": worse, "measure": measure}
                yield said | {"path": ALL, "scheduler": "", "NFE": ALL} | _verdict([one for _, one in ratios])
                places = [(path, scheduler, ALL) for (path, scheduler, _), _ in ratios] + [where for where, _ in ratios]
                for place in dict.fromkeys(places):
                    here = [one for where, one in ratios if place in (where, (*where[:2], ALL))]
                    yield said | dict(zip(("path", "scheduler", "NFE"), place, strict=True)) | _verdict(here)


def compared_columns(claim: Claim, row: Conditions) -> tuple[Any, ...]:
    """Return what rows that a claim compares have in common."""
    return tuple(row[key] for key in CONDITIONS if key not in claim.differing)


def _compared(
    claim: Claim, better: str, worse: str, measured: Sequence[Measured], steps: Steps
) -> Iterator[tuple[tuple[Any, ...], Measured, Measured]]:
    """Yield the path, scheduler and number of steps of two rows that differ in the claim's column only, and both."""
    rows = [
        one
        for one in measured
        if "NFE" in one["conditions"] and claim.where(one["conditions"], steps) and _concerns(claim, one["conditions"])
    ]
    others = {
        compared_columns(claim, one["conditions"]): one for one in rows if one["conditions"][claim.column] == worse
    }
    for one in rows:
        row = one["conditions"]
        other = others.get(compared_columns(claim, row))
        if row[claim.column] == better and other is not None:
            scheduler = "" if claim.column == "scheduler" else row["scheduler"]
            yield (row["path"], scheduler, row["NFE"]), one, other


def _concerns(claim: Claim, row: Conditions) -> bool:
    """Return whether a row counts: the control, schemes and fitted grids count for the claims about them only."""
    return (
        (claim.name == "control" or row["velocity"] != CONTROL)
        and (claim.column == "scheme" or row["scheme"] == PLAIN)
        and (claim.column == "grid" or row["grid"] != FITTED)
    )


def _log_ratios(one: Measured, other: Measured, measure: str) -> list[float]:
    """Return the logarithm of the ratio of two errors for each distribution; nothing if it was not measured."""
    pairs = zip(one["errors"].get(measure, ()), other["errors"].get(measure, ()), strict=True)
    return [math.log(max(left, _LEAST) / max(right, _LEAST)) for left, right in pairs]


def _verdict(ratios: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return the mean ratio of errors with its interval over distributions, and what it says about the claim."""
    of_distributions = [sum(column) / len(column) for column in zip(*ratios, strict=True)]
    found = dict(zip(RATIO, map(math.exp, interval(of_distributions)), strict=False))
    if len(of_distributions) == 1:
        said = ONE_ONLY
    else:
        said = SUPPORTED if found[RATIO[2]] < 1 else NOT_SUPPORTED if found[RATIO[1]] > 1 else NOT_RESOLVED
    return {"comparisons": len(ratios), "distributions": len(of_distributions)} | found | {"verdict": said}
