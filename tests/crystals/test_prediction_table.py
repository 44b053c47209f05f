"""The table of structure prediction."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from crystal_config import crystal_config

from pipeline.config import Config
from pipeline.crystals.prediction_matching import COLUMNS
from pipeline.crystals.prediction_table import peers_of, rates_of
from pipeline.crystals.table import frame_of
from pipeline.errors import KinoflowError
from pipeline.stages.job import Job
from pipeline.stages.prediction_table import prediction_table
from pipeline.store.parquet import write_table

Found = tuple[float, bool, bool]
NONE = (math.nan, False, False)


def frame(*targets: list[Found], reasons: tuple[str, ...] = ()) -> pd.DataFrame:
    """Return matches: for each target the distances of its samples, and whether they, and both, are valid."""
    names = ("distance", "valid", "both_valid")
    rows = [
        dict(zip(names, found, strict=True)) | {"target": target, "sample": sample, "own": True, "reason": ""}
        for target, samples in enumerate(targets)
        for sample, found in enumerate(samples)
    ]
    for row, reason in zip(rows, reasons, strict=False):
        row["reason"] = reason
    return frame_of(rows, COLUMNS)


def test_the_first_structure_counts_for_one_and_the_best_of_all_for_several() -> None:
    found = frame([NONE, (0.3, True, True)], [(0.2, True, True), (0.1, True, True)], [NONE, NONE], [NONE, NONE])
    first, best = rates_of(found, seed=0)
    assert (first["k"], first["n"], first["match_rate"], first["rmse"]) == (1, 4, 25.0, 0.2)
    assert (best["k"], best["n"], best["match_rate"]) == (2, 4, 50.0)
    assert best["rmse"] == pytest.approx(0.2)  # of 0.3 and 0.1
    assert best["match_rate_low"] < 50 < best["match_rate_high"]
    assert best["rmse_low"] == pytest.approx(0.1)
    assert best["rmse_high"] == pytest.approx(0.3)
    assert "structures_that_match" not in first
    assert best["structures_that_match"] == 37.5  # 3 of 8, though only one of the first matches
    assert best["structures_that_match_low"] < 37.5 < best["structures_that_match_high"]


def test_a_structure_drawn_for_another_target_of_the_composition_counts_for_metre_only() -> None:
    found = frame([(0.3, True, True)], [NONE], [NONE])
    other = frame([NONE], [(0.2, True, True)], [NONE]).assign(own=False).iloc[[1]]
    (row,) = rates_of(pd.concat([found, other]), seed=0)
    assert (row["match_rate"], row["rmse"]) == (pytest.approx(100 / 3), 0.3)
    assert row["metre"] == pytest.approx(200 / 3)
    assert row["crmse"] == pytest.approx((0.3 + 0.2 + 0.5) / 3)  # 0.5 for what nothing matches


def test_matches_that_are_not_valid_count_apart_as_the_peers_count() -> None:
    only_predicted, neither = (0.1, True, False), (0.05, False, False)
    first, best = rates_of(frame([only_predicted, neither], [neither, neither]), seed=0)
    assert (first["match_rate"], first["match_rate_of_valid"]) == (100.0, 0.0)
    assert "rmse_of_valid" not in first
    assert (best["match_rate"], best["match_rate_of_valid"]) == (100.0, 50.0)
    assert (best["rmse"], best["rmse_of_valid"]) == (pytest.approx(0.05), pytest.approx(0.1))


def test_what_is_no_crystal_or_took_too_long_is_counted_and_is_no_match() -> None:
    reasons = ("no atoms", "time limit (60 s)", "failed: ValueError: x", "")
    (row,) = rates_of(frame([NONE], [NONE], [NONE], [(0.1, True, True)], reasons=reasons), seed=0)
    assert (row["k"], row["match_rate"], row["not_crystals"], row["not_compared"]) == (1, 25.0, 1, 2)


def test_published_rows_stand_beside_data_of_the_same_kind_only() -> None:
    assert peers_of("matbench_dielectric") == []
    for data, test in (("mp20", "MP-20"), ("mp20_part", "MP-20"), ("perov_5", "Perov-5")):
        rows = peers_of(data)
        assert {row["run"] for row in rows} == {"DiffCSP", "FlowMM"}
        assert {row["k"] for row in rows} == {1, 20}
        assert {(row["data"], row["origin"]) for row in rows} == {(test, "published")}
        assert all(row["source"] for row in rows)


@pytest.fixture
def config() -> Config:
    block: dict[str, Any] = crystal_config(prediction={"compositions": 2, "samples": 2}).model_dump(mode="json")
    experiment = block["experiments"]["crystals"]
    experiment["data"] = {"name": "mp20_part"}
    experiment["runs"]["ar"] = experiment["runs"]["mask"] | {"path": None, "loss": None}
    return Config.model_validate(block, strict=False)


def test_the_table_says_who_predicted_how_and_who_is_left_out(config: Config, tmp_path: Path) -> None:
    hit = (0.1, True, True)
    made = {
        "mask": frame([hit, hit], [NONE, hit]),
        "data": frame([hit], [hit]),
        "random": frame([NONE] * 2, [NONE] * 2),
    }
    for name, matches in made.items():
        write_table(tmp_path / f"{name}.parquet", matches)
    output = {name: tmp_path / name for name in ("csv", "markdown", "numbers")}
    files = [tmp_path / f"{name}.parquet" for name in ("random", "data", "mask")]
    prediction_table(Job(config, "crystals"), matches=files, **output)
    with output["csv"].open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["run"], row["k"], row["match_rate"]) for row in rows if row["origin"] == "ours"] == [
        ("mask", "1", "50.0"),
        ("mask", "2", "100.0"),
        ("tokenised test structures", "1", "100.0"),
        ("random structures", "1", "0.0"),
        ("random structures", "2", "0.0"),
    ]
    assert [row["NFE"] for row in rows[:3]] == ["64", "64", ""]
    published = [row for row in rows if row["origin"] == "published"]
    assert [row["published_match_rate_of_valid"] for row in published] == ["51.49", "77.93", "61.39"]
    assert {row["match_rate_of_valid"] for row in published} == {""}, "they share no column with ours"
    narrow = output["markdown"].read_text()
    assert max(map(len, narrow.splitlines())) < 100
    text = " ".join(narrow.split())
    assert "Left out: ar (autoregressive: can only continue given tokens)." in text
    assert "only a part of MP-20, in training too" in text
    assert "stol 0.5, angle_tol 10, ltol 0.3" in text
    numbers = json.loads(output["numbers"].read_text())
    assert numbers["mask, k = 2"]["match_rate"] == 100
    assert len(numbers) == 5


def test_a_file_of_no_prediction_is_refused(config: Config, tmp_path: Path) -> None:
    write_table(tmp_path / "ar.parquet", frame([NONE]))
    output = {name: tmp_path / name for name in ("csv", "markdown", "numbers")}
    with pytest.raises(KinoflowError, match=r"ar\.parquet: not named for a prediction; there are mask, data, random"):
        prediction_table(Job(config, "crystals"), matches=[tmp_path / "ar.parquet"], **output)
