"""Runs that were trained with several seeds: their means, and which differences are more than chance.

The intervals of other tables say how far a figure would stray with further samples of one network. Those of this one
say how far it would with further networks, too. They are Student's, 95 % each: of twenty differences that are nothing,
about one is called one. The difference of two runs does not take their variances for equal (Welch). A few seeds can
agree by chance, so the variance of a figure over seeds counts at least as much as that over the samples of one seed.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import mean, variance
from typing import Any

from pipeline.report.columns import HIGH, LOW, column_of, error_of, headlines, values_in
from pipeline.report.formats import Row, as_csv, pipe_table, rounded, wrapped, write_numbers
from pipeline.report.summary import NORMAL
from pipeline.report.tables import read_scores
from pipeline.store.atomic import write_text

COLUMNS = ("metric", "run", "than", "seeds", "value", "value_low", "value_high", "better")
NEITHER = "not resolved"
Measured = Sequence[tuple[float, float]]  # values with their standard errors
LEVEL = 0.975  # of a two-sided interval of 95 %


def make_seed_table(
    seeds: Mapping[str, Sequence[str]], *, scores: Sequence[Path], csv: Path, markdown: Path, numbers: Path
) -> None:
    """Write means over seeds and differences of runs; `seeds` has the names of all runs that are one run's seeds."""
    found = read_scores(scores)
    measured = {run: [found[name][1] for name in names if name in found] for run, names in seeds.items()}
    metrics = values_in(dict.fromkeys(key for those in measured.values() for scores in those for key in scores))
    rows: list[Row] = []
    for metric in metrics:
        values = {
            run: [(float(scores[metric]), sampling_error(scores, metric)) for scores in those if metric in scores]
            for run, those in measured.items()
        }
        rows += rows_of(metric, {run: those for run, those in values.items() if len(those) > 1})
    write_text(csv, as_csv(rows, COLUMNS))
    write_text(markdown, text_of(rows, headlines(metrics), csv.name))
    write_numbers(numbers, {run: _numbers_of(run, rows) for run in seeds})


def sampling_error(scores: Row, metric: str) -> float:
    """Return the standard error of a figure over the samples of its run, from its 95 % interval; 0 if it has none."""
    low, high = scores.get(metric + LOW), scores.get(metric + HIGH)
    if low is None or high is None:
        return float(scores.get(error_of(metric, scores)) or 0.0)
    return float(high - low) / (2 * NORMAL)


def rows_of(metric: str, values: Mapping[str, Measured]) -> list[Row]:
    """Return a row with the mean of each run, and one for each two runs with the first minus the second.

    The values are those of a run's seeds, each with its standard error over samples.
    """
    column = column_of(metric)
    means = [
        {"metric": metric, "run": run, "than": "", "seeds": len(those)} | _interval(average(those), *_spread(those))
        for run, those in values.items()
    ]
    differences = []
    for (run, those), (than, others) in combinations(values.items(), 2):
        bounds = _interval(average(those) - average(others), *_joint_spread(those, others))
        ahead = NEITHER
        if bounds["value_low"] > 0 or bounds["value_high"] < 0:
            ahead = run if column.beats(average(those), average(others)) else than
        seeds = min(len(those), len(others))
        verdict = {"better": ahead} if column.better else {}
        differences.append({"metric": metric, "run": run, "than": than, "seeds": seeds} | bounds | verdict)
    return means + differences


def text_of(rows: Sequence[Row], shown: Sequence[str], full: str) -> str:
    """Return the means of the metrics that matter, and a sentence for each of their differences that is resolved."""
    means = {(row["run"], row["metric"]): row for row in rows if not row["than"]}
    runs = list(dict.fromkeys(run for run, _ in means))
    columns = [name for name in shown if any((run, name) in means for run in runs)]
    parts = []
    for at in range(0, len(columns), 3):
        those = columns[at : at + 3]
        cells = [[run, *(_cell(means.get((run, name))) for name in those)] for run in runs]
        parts.append(pipe_table(["run", *(column_of(name).heading for name in those)], cells))
    counts = sorted({row["seeds"] for (_, metric), row in means.items() if metric in columns})
    several = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "no"
    parts.append(wrapped(f"Means of {several} seeds, each a training of its own, with 95 % intervals over seeds."))
    apart = [row for row in rows if row["than"] and row.get("better", NEITHER) != NEITHER]
    resolved = [row for row in apart if row["metric"] in columns]
    parts += [wrapped(f"- {_sentence(row)}", "  ") for row in resolved]
    parts.append("The other differences are within chance.\n" if resolved else "No difference is more than chance.\n")
    parts.append(f"All metrics and differences: {full}\n")
    return "\n".join(parts)


def _sentence(row: Row) -> str:
    other = row["than"] if row["better"] == row["run"] else row["run"]
    by = sorted(abs(row[key]) for key in ("value_low", "value_high"))
    interval = f"[{rounded(by[0], 3)}, {rounded(by[1], 3)}]"
    label = column_of(row["metric"]).heading
    return f"{label}: {row['better']} is ahead of {other} by {rounded(abs(row['value']), 3)} {interval}."


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    return f"{rounded(row['value'], 3)} [{rounded(row['value_low'], 3)}, {rounded(row['value_high'], 3)}]"


def _numbers_of(run: str, rows: Sequence[Row]) -> dict[str, Any]:
    own = [row for row in rows if row["run"] == run and not row["than"]]
    return {f"{row['metric']}{ending}": row[f"value{ending}"] for row in own for ending in ("", LOW, HIGH)}


def average(values: Measured) -> float:
    """Return the mean of values, without their errors."""
    return mean(value for value, _ in values)


def _variance(values: Measured) -> float:
    """Return the variance over seeds, or that over the samples of one seed if it is larger."""
    return max(variance(value for value, _ in values), mean(error**2 for _, error in values))


def _spread(values: Measured) -> tuple[float, float]:
    """Return the standard error of a mean and its degrees of freedom."""
    return sqrt(_variance(values) / len(values)), len(values) - 1


def _joint_spread(one: Measured, other: Measured) -> tuple[float, float]:
    """Return the standard error of the difference of two means and its degrees of freedom (Welch and Satterthwaite)."""
    parts = [(_variance(values) / len(values), len(values) - 1) for values in (one, other)]
    total = sum(part for part, _ in parts)
    return sqrt(total), total**2 / sum(part**2 / free for part, free in parts) if total else 1.0


def _interval(value: float, error: float, free: float) -> dict[str, float]:
    from scipy.special import stdtrit  # importing it takes a while; only do so when needed

    reach = float(stdtrit(free, LEVEL)) * error
    return {"value": value, "value_low": value - reach, "value_high": value + reach}
