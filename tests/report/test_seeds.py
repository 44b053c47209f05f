"""Means over seeds: Student's intervals, Welch's differences, and no verdict where there is none."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from scipy import stats

from pipeline.report.seeds import NEITHER, make_seed_table, rows_of

SEEDS = {"ar": ["ar", "ar_seed_1", "ar_seed_2"], "mask": ["mask", "mask_seed_1", "mask_seed_2"]}


def write(folder: Path, values: Mapping[str, Mapping[str, float]]) -> Sequence[Path]:
    files = []
    for run, metrics in values.items():
        files.append(folder / f"{run}.json")
        files[-1].write_text(json.dumps({"conditions": {"run": run}, "metrics": metrics}))
    return files


def table(folder: Path, values: Mapping[str, Mapping[str, float]]) -> tuple[list[dict[str, str]], str]:
    made = {"csv": folder / "t.csv", "markdown": folder / "t.md", "numbers": folder / "t.json"}
    make_seed_table(SEEDS, scores=write(folder, values), **made)
    return list(csv.DictReader(made["csv"].open())), made["markdown"].read_text()


def exact(values: Sequence[float]) -> list[tuple[float, float]]:
    return [(value, 0.0) for value in values]


def test_intervals_are_those_of_student_and_welch() -> None:
    one, other = [41.0, 44.0, 49.0], [60.0, 61.0, 59.5]
    first, second, difference = rows_of("validity", {"ar": exact(one), "mask": exact(other)})
    for row, values in ((first, one), (second, other)):
        interval = stats.ttest_1samp(values, 0).confidence_interval()
        assert (row["value_low"], row["value_high"]) == pytest.approx((interval.low, interval.high))
    interval = stats.ttest_ind(one, other, equal_var=False).confidence_interval()
    assert (difference["value_low"], difference["value_high"]) == pytest.approx((interval.low, interval.high))
    assert difference["better"] == "mask"


def test_the_better_run_depends_on_the_metric_and_chance_has_no_winner() -> None:
    low, high = exact([1.0, 1.1, 1.2]), exact([5.0, 5.1, 5.2])
    assert rows_of("generative_perplexity", {"ar": low, "mask": high})[2]["better"] == "ar"
    assert rows_of("validity", {"ar": low, "mask": high})[2]["better"] == "mask"
    assert rows_of("validity", {"ar": low, "mask": exact([0.9, 1.2, 1.4])})[2]["better"] == NEITHER
    assert "better" not in rows_of("coverage_fingerprints", {"ar": low, "mask": high})[2]


def test_seeds_that_agree_by_chance_are_as_uncertain_as_their_samples(tmp_path: Path) -> None:
    rate = {"validity": 0.0, "validity_low": 0.0, "validity_high": 16.1}
    values = dict.fromkeys(SEEDS["ar"], rate)
    values |= {name: {"validity": 5.0, "validity_low": 0.9, "validity_high": 23.6} for name in SEEDS["mask"]}
    rows, _ = table(tmp_path, values)
    error = 16.1 / (2 * 1.96) / 3**0.5
    assert float(rows[0]["value_high"]) == pytest.approx(stats.t.ppf(0.975, 2) * error, rel=1e-6)
    assert rows[2]["better"] == NEITHER
    assert rows_of("validity", {"ar": exact([0.0, 0.0]), "mask": exact([5.0, 5.0])})[2]["better"] == "mask"


def test_a_table_has_only_runs_with_several_seeds_and_says_what_is_resolved(tmp_path: Path) -> None:
    values = {name: {"validity": 30.0 + number} for number, name in enumerate(SEEDS["ar"])}
    values |= {name: {"validity": 60.0 + number} for number, name in enumerate(SEEDS["mask"])}
    values |= {"other": {"validity": 99.0}}
    rows, text = table(tmp_path, values)
    assert [(row["run"], row["than"], row["seeds"]) for row in rows] == [
        ("ar", "", "3"),
        ("mask", "", "3"),
        ("ar", "mask", "3"),
    ]
    assert "mask is ahead of ar by 30 [" in text
    assert "99" not in text
    assert all(len(line) < 100 for line in text.splitlines())
    numbers = json.loads((tmp_path / "t.json").read_text())
    assert numbers["ar"]["validity"] == 31


def test_runs_without_a_second_score_have_no_row(tmp_path: Path) -> None:
    rows, text = table(tmp_path, {"ar": {"validity": 30.0}, "mask": {"validity": 60.0}})
    assert rows == []
    assert "No difference" in text
