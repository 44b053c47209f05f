"""Runs that were trained with several seeds: their means, and which differences are more than chance.

The intervals of other tables say how far a figure would stray with further samples of one network. Those of this one
say how far it would with further networks, too. They are Student's, 95 % each: of twenty differences that are nothing,
about one is called one. The difference of two runs does not take their variances for equal (Welch).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import mean, variance
from typing import Any

from pipeline.report.columns import HIGH, LOW, column_of, headlines, values_in
from pipeline.report.formats import Row, as_csv, pipe_table, rounded, wrapped, write_numbers
from pipeline.report.tables import read_scores
from pipeline.store.atomic import write_text

COLUMNS = ("metric", "run", "than", "seeds", "value", "value_low", "value_high", "better")
NEITHER = "not resolved"
LEVEL = 0.975  # of a two-sided interval of 95 %


def make_seed_table(
    seeds: Mapping[str, Sequence[str]], *, scores: Sequence[Path], csv: Path, markdown: Path, numbers: Path
) -> None:
    """Write means over seeds and differences of runs; `seeds` has the names of all runs that are one run's seeds."""
    found = read_scores(scores)
    metrics = values_in(dict.fromkeys(key for _, measured in found.values() for key in measured))
    rows: list[Row] = []
    for metric in metrics:
        values = {
            run: [float(found[name][1][metric]) for name in names if name in found and metric in found[name][1]]
            for run, names in seeds.items()
        }
        rows += rows_of(metric, {run: those for run, those in values.items() if len(those) > 1})
    write_text(csv, as_csv(rows, COLUMNS))
    write_text(markdown, text_of(rows, headlines(metrics), csv.name))
    write_numbers(numbers, {run: _numbers_of(run, rows) for run in seeds})


def rows_of(metric: str, values: Mapping[str, Sequence[float]]) -> list[Row]:
    """Return a row with the mean of each run, and one for each two runs with the first minus the second."""
    column = column_of(metric)
    means = [
        {"metric": metric, "run": run, "than": "", "seeds": len(those)} | _interval(mean(those), *_spread(those))
        for run, those in values.items()
    ]
    differences = []
    for (run, those), (than, others) in combinations(values.items(), 2):
        bounds = _interval(mean(those) - mean(others), *_joint_spread(those, others))
        ahead = NEITHER
        if bounds["value_low"] > 0 or bounds["value_high"] < 0:
            ahead = run if column.beats(mean(those), mean(others)) else than
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


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the standard error of a mean and its degrees of freedom."""
    return sqrt(variance(values) / len(values)), len(values) - 1


def _joint_spread(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the standard error of the difference of two means and its degrees of freedom (Welch and Satterthwaite)."""
    parts = [(variance(values) / len(values), len(values) - 1) for values in (one, other)]
    total = sum(part for part, _ in parts)
    return sqrt(total), total**2 / sum(part**2 / free for part, free in parts) if total else 1.0


def _interval(value: float, error: float, free: float) -> dict[str, float]:
    from scipy.special import stdtrit  # importing it takes a while; only do so when needed

    reach = float(stdtrit(free, LEVEL)) * error
    return {"value": value, "value_low": value - reach, "value_high": value + reach}
