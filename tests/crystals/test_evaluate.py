"""Crystals from anywhere are evaluated in one call, whatever is wrong with some of them."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_crystals import caesium_chloride, overlapping, rock_salt, table

from pipeline.config import Config
from pipeline.config.loading import load_config
from pipeline.crystals import evaluate as module
from pipeline.crystals import resuming
from pipeline.crystals.evaluate import evaluate
from pipeline.crystals.export import cif_text
from pipeline.crystals.hull import Hull, Point, elements_of
from pipeline.store.parquet import read_table, write_table

GOOD = ("a_salt", "b_again", "c_metal")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three good structures, a file that is none, and one with atoms in one place."""
    path = tmp_path / "cifs"
    path.mkdir()
    crystals = [rock_salt(), rock_salt(), caesium_chloride(length=3.3, numbers=(12, 47)), overlapping()]
    for name, crystal in zip((*GOOD, "e_overlap"), crystals, strict=True):
        (path / f"{name}.cif").write_text(cif_text(crystal))
    (path / "d_broken.cif").write_text("data_broken\n_cell_length_a   four\n")
    return path


@pytest.fixture
def config(tiny_file: Callable[..., Path], tmp_path: Path) -> Config:
    relaxation = {"count": 1, "steps": 2, "seconds": 120}
    crystals = {"relaxation": relaxation, "seconds": 60}
    changes: dict[str, Any] = {"experiments": {"checkerboard": {"crystals": crystals}}, "results": str(tmp_path)}
    changes["data"] = {"order": ["mirror"], "cache": str(tmp_path / "cache")}
    return load_config(tiny_file(changes), choices=False)


def references(folder: Path) -> dict[str, Path]:
    """Write a data set whose training structure is the salt, and a hull with its elements."""
    rows = table(rock_salt("train"), caesium_chloride("test")).assign(split=["train", "test"])
    write_table(folder / "rows.parquet", rows)
    points = [Point.at({11: 1, 17: 1}, -2.0, "computed", "NaCl")]
    Hull([*points, *elements_of(points, [12, 47])], "a test").save(folder / "hull.parquet")
    return {"rows": folder / "rows.parquet", "hull": folder / "hull.parquet"}


def test_every_file_has_a_row_with_values_or_a_reason(config: Config, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    scores = evaluate(config, "checkerboard", path=folder, relaxed=None, **references(tmp_path), output=output)
    found = read_table(output / "structures.parquet").set_index("id")
    assert list(found.index) == [*GOOD, "d_broken", "e_overlap"]
    assert list(pd.read_csv(output / "structures.csv")["id"]) == list(found.index)
    assert found.loc["d_broken", "reason"] != ""
    assert (found.drop(index="d_broken")["reason"] == "").all()
    assert found["structural_valid"].tolist() == [True, True, True, False, False]
    assert found["unique"].tolist() == [True, False, True, False, False]
    assert found["novel"].tolist() == [False, False, True, False, False]
    good = found.loc[list(GOOD)]
    assert good["relaxed"].all()
    assert (good["converged"] | (good["relax_reason"] != "")).all()
    assert good["energy_above_hull"].map(math.isfinite).all()
    assert (scores["structural_validity"], scores["uniqueness"], scores["novelty"]) == (60, 40, 20)
    assert {"stability_rate", "coverage_recall", "wasserstein_density"} <= scores.keys()
    assert json.loads((output / "scores.json").read_text())["metrics"] == scores
    assert (output / "relaxed.extxyz").is_file()


def test_what_has_no_reference_is_left_out_and_said(
    config: Config, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "output"
    scores = evaluate(config, "checkerboard", path=folder, relaxed=0, rows=None, hull=None, output=output)
    printed = capsys.readouterr().out
    assert "coverage, Wasserstein distances and novelty are left out" in printed
    assert "no hull: stability is left out" in printed
    assert not {"stability_rate", "coverage_recall", "wasserstein_density", "novelty"} & scores.keys()
    assert (scores["uniqueness"], scores["relaxed"]) == (40, 0)
    assert not read_table(output / "structures.parquet")["relaxed"].any()
    assert f"{'uniqueness':32}         40  % [" in printed
    assert not (output / "ranked.zip").exists()
    assert "ranked.zip" not in (output / "README.md").read_text()


def test_the_test_set_is_described_once(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, settings = references(tmp_path)["rows"], config.experiments["checkerboard"].crystals
    assert settings is not None
    _, first = module._references(config, settings, rows, tmp_path / "first")
    asked, describe = list[int](), resuming.describe_rows
    monkeypatch.setattr(
        resuming, "describe_rows", lambda frame, *few: asked.append(len(frame)) or describe(frame, *few)
    )
    _, again = module._references(config, settings, rows, tmp_path / "again")
    assert asked == [0]
    assert first is not None
    assert again is not None
    pd.testing.assert_frame_equal(first, again)
