"""Calibration: what the table says of energies that are known."""

import csv
import json
import math
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from crystal_config import crystal_config
from fixed_energy import ENERGY, FIXED, RAW
from small_crystals import caesium_chloride, rock_salt

from pipeline.crystals.calibration import agreement, compare, draw_test_rows
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energies import formation_energy
from pipeline.crystals.hull import COMPUTED, DATA_SET, PUBLISHED, Hull, Point, elements_of
from pipeline.crystals.table import CRYSTAL_COLUMNS, frame_of, rejected_row, row_of
from pipeline.stages.calibrate import calibrate as calibrate_stage
from pipeline.stages.job import Job
from pipeline.store.parquet import write_table
from pipeline.store.provenance import sidecar_of

COLUMNS = CRYSTAL_COLUMNS | {"split": "str", "formation_energy": "float64", "energy_above_hull": "float64"}


def energies_of(formed: float = math.nan, above: float = math.nan, split: str = "test") -> dict[str, Any]:
    return {"split": split, "formation_energy": formed, "energy_above_hull": above}


def calibrated(
    folder: Path, rows: list[dict[str, Any]], points: list[Point], count: int = 10, judges: tuple[str, ...] = ()
) -> list[dict[str, str]]:
    paths = {name: folder / name for name in ("rows", "hull", "csv", "markdown", "numbers")}
    write_table(paths["rows"], frame_of(rows, COLUMNS))
    Hull([*points, *elements_of(points)], "").save(paths["hull"])
    chosen = {"chgnet": FIXED, "sevennet": RAW}
    with patch("pipeline.crystals.energy_model.EnergyModel.of", lambda choice: chosen[choice.name]):
        calibrate_stage(Job(crystal_config(calibration=count, judges=judges), "crystals"), **paths)
    assert sidecar_of(paths["csv"]).is_file()
    assert sidecar_of(paths["numbers"]).is_file()
    with paths["csv"].open() as stream:
        table = list(csv.DictReader(stream))
    numbers = json.loads(paths["numbers"].read_text())
    assert {name: row["n"] for name, row in numbers.items()} == {row["compared"]: int(row["n"]) for row in table}
    lines = paths["markdown"].read_text().splitlines()
    assert sum(line.startswith("|") for line in lines) % (len(table) + 2) == 0, "one table or more, of all rows"
    assert max(map(len, lines)) < 100
    return table


def test_known_energies_are_compared_with_the_models_and_with_three_hulls(tmp_path: Path) -> None:
    predicted = formation_energy([11, 17], ENERGY)[0]
    rows = [
        row_of(rock_salt(), **energies_of(predicted + 0.5, 0.1)),
        row_of(caesium_chloride(numbers=(11, 17)), **energies_of(predicted + 0.7, 0.3)),
        row_of(rock_salt("other"), **energies_of(-9.0, 0.0, "train")),
        rejected_row("bad", "no atoms", **energies_of(-9.0, 0.0)),
    ]
    on_hull = predicted + 0.4
    points = [Point.at({11: 1, 17: 1}, on_hull - 0.02, PUBLISHED, ""), Point.at({11: 1, 17: 1}, on_hull, DATA_SET, "")]
    formed, halides, published, others, used = calibrated(tmp_path, rows, points)
    assert formed["compared"] == "formation energy by Fixed"
    assert halides | {"compared": formed["compared"]} == formed
    assert (formed["n"], formed["left_out"]) == ("2", "0")
    assert float(formed["mean_absolute_error"]) == pytest.approx(0.6)
    assert float(formed["bias"]) == pytest.approx(-0.6)
    assert 0.5 <= float(formed["mean_absolute_error_low"]) <= 0.6 <= float(formed["mean_absolute_error_high"]) <= 0.7
    assert float(published["mean_absolute_error"]) == pytest.approx(0.02)
    assert float(published["agree_at_0.1"]) == 0.5
    assert float(others["mean_absolute_error"]) == pytest.approx(0.02)
    assert float(used["mean_absolute_error"]) == pytest.approx(0, abs=1e-9)
    assert float(used["agree_at_0.1"]) == float(used["agree_at_0"]) == 1


def test_a_hull_of_computed_entries_is_compared_as_it_is(tmp_path: Path) -> None:
    points = [Point.at({11: 1, 17: 1}, -2.0, COMPUTED, "")]
    table = calibrated(tmp_path, [row_of(rock_salt(), **energies_of(-1.9, 0.0))], points)
    assert [row["compared"] for row in table][2:] == ["energy above the hull of computed entries"]
    assert float(table[2]["bias"]) == pytest.approx(0.1)
    assert float(table[2]["agree_at_0"]) == 0


def test_without_energies_the_published_ground_state_is_what_there_is(tmp_path: Path) -> None:
    rows = [row_of(rock_salt(), **energies_of()), row_of(rock_salt("KF", numbers=(19, 9)), **energies_of())]
    predicted = formation_energy([11, 17], ENERGY)[0]
    row, *_ = calibrated(tmp_path, rows, [Point.at({11: 2, 17: 2}, predicted - 0.03, PUBLISHED, "")])
    assert (row["n"], row["left_out"]) == ("1", "1")
    assert float(row["bias"]) == pytest.approx(0.03)
    assert "polymorph" in row["against"]


def test_every_model_and_every_chemistry_has_a_row_with_the_share_of_right_verdicts(tmp_path: Path) -> None:
    fixed = formation_energy([11, 17], ENERGY)[0]
    oxide = formation_energy([12, 8], ENERGY)[0]
    rows = [
        row_of(rock_salt(), **energies_of(fixed + 0.03, 0.01)),  # the model has it 0.02 below the hull
        row_of(rock_salt("MgO", numbers=(12, 8)), **energies_of(oxide - 0.05, 0.0)),  # and this 0.05 above
    ]
    table = {row["compared"]: row for row in calibrated(tmp_path, rows, [], judges=("sevennet",))}
    for model, shift in (("Fixed", (0, 0)), ("Raw", (-0.614 / 2, -0.687 / 2))):
        name = f"formation energy by {model}"
        assert [table[key]["n"] for key in (name, f"{name}, oxide", f"{name}, halide")] == ["2", "1", "1"]
        assert float(table[f"{name}, halide"]["bias"]) == pytest.approx(-0.03 + shift[0])
        assert float(table[f"{name}, oxide"]["bias"]) == pytest.approx(0.05 + shift[1])
    known = table["formation energy by Fixed"]
    assert (float(known["agree_at_0"]), float(known["agree_at_0.1"])) == (0, 1)
    assert float(known["absolute_error_of_68"]) == pytest.approx(0.03 + 0.68 * 0.02)


def test_without_test_rows_the_table_says_none(tmp_path: Path) -> None:
    (row,) = calibrated(tmp_path, [row_of(rock_salt(), **energies_of(split="train"))], [])
    assert (row["n"], row["mean_absolute_error"]) == ("0", "")


def test_the_rows_are_drawn_by_the_seed(tmp_path: Path) -> None:
    rows = [row_of(rock_salt(f"{number:02}"), **energies_of()) for number in range(30)]
    write_table(tmp_path / "rows", frame_of(rows, COLUMNS))
    draws = [[row["id"] for row in draw_test_rows(tmp_path / "rows", 6, seed)] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert draws[0] == sorted(set(draws[0]))
    assert len(draws[0]) == 6


def test_an_energy_that_fails_is_left_out(tmp_path: Path) -> None:
    broken = Crystal("flat", np.ones(3), np.array([20.0, 60.0, 120.0]), np.array([11]), np.zeros((1, 3)))
    rows = [row_of(rock_salt(), **energies_of(-2.0, 0.0)), row_of(broken, **energies_of(-2.0, 0.0))]
    assert calibrated(tmp_path, rows, [Point.at({11: 1, 17: 1}, -2.0, DATA_SET, "")])[0]["left_out"] == "1"


def test_the_interval_is_around_the_mean_and_shrinks_with_more_values() -> None:
    values = np.abs(np.random.default_rng(0).normal(size=400))
    widths = []
    for count in (25, 400):
        row = compare("", "", values[:count], np.zeros(count), seed=0)
        assert row["mean_absolute_error_low"] < row["mean_absolute_error"] < row["mean_absolute_error_high"]
        widths.append(row["mean_absolute_error_high"] - row["mean_absolute_error_low"])
    assert widths[1] < widths[0] / 2


def test_agreement_takes_rounding_for_zero() -> None:
    ours, theirs = np.array([1e-9, 0.2, -0.1, math.nan]), np.array([0.0, 0.05, 0.05, 0.0])
    assert agreement(ours, theirs) == {"agree_at_0": pytest.approx(2 / 3), "agree_at_0.1": pytest.approx(2 / 3)}
