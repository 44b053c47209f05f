"""Crystals from anywhere are evaluated in one call, whatever is wrong with some of them."""

import json
import math
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_crystals import caesium_chloride, overlapping, rock_salt, table

from pipeline.config import Config, EnergyModelChoice
from pipeline.config.loading import load_config
from pipeline.crystals import evaluate as module
from pipeline.crystals import reference_energies, resuming, verdicts, workers
from pipeline.crystals.evaluate import evaluate
from pipeline.crystals.export import cif_text
from pipeline.crystals.hull import Hull, Point, elements_of
from pipeline.errors import KinoflowError
from pipeline.store.parquet import read_table, write_table


@pytest.fixture(autouse=True)
def hull_of_the_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give every energy the same uncertainty, and compare with the hull of the test, not with the model's own."""
    monkeypatch.setattr(reference_energies, "TABLES", tmp_path / "none")
    monkeypatch.setattr(verdicts, "uncertainty", lambda model, chemistry: 0.03)


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
    changes["data"] = {"order": ["mirror"], "cache": str(tmp_path / "cache"), "mirror": str(tmp_path / "mirror")}
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
    config: Config,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "output"
    scores = evaluate(config, "checkerboard", path=folder, relaxed=0, rows=None, hull=None, output=output)
    printed = capsys.readouterr().out
    assert "coverage, Wasserstein distances and novelty are left out" in printed
    assert "no published hull" in printed
    assert not {"stability_rate", "coverage_recall", "wasserstein_density", "novelty"} & scores.keys()
    assert (scores["uniqueness"], scores["relaxed"]) == (40, 0)
    assert not read_table(output / "structures.parquet")["relaxed"].any()
    assert f"{'uniqueness':32}         40  % [" in printed
    assert not (output / "ranked.zip").exists()
    assert "ranked.zip" not in (output / "README.md").read_text()


def test_what_new_is_compared_with_is_named_and_known_crystals_have_their_ids(
    config: Config, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(tmp_path / "mine.parquet", table(caesium_chloride("mp-7", length=3.3, numbers=(12, 47))))
    run = partial(evaluate, config, "checkerboard", path=folder, relaxed=0, **references(tmp_path))
    scores = run(output=tmp_path / "output", known=[str(tmp_path / "mine.parquet")])
    printed = capsys.readouterr().out
    assert "new: unlike 1 structures of" in printed
    assert f"1 of {tmp_path / 'mine.parquet'}" in " ".join(printed.split())
    found = read_table(tmp_path / "output" / "structures.parquet").set_index("id")
    assert found.loc["c_metal", ["novel", "listed_as"]].tolist() == [True, "mp-7"]
    assert (found.drop(index="c_metal")["listed_as"] == "").all()
    assert scores["listed_rate"] == 20
    assert "known: mp-7" in printed


def test_a_model_that_is_not_installed_is_said_before_any_work(config: Config, tmp_path: Path) -> None:
    model = EnergyModelChoice.model_validate({"name": "orb", "path": "weights.ckpt"})
    crystals = config.experiments["checkerboard"].crystals.model_copy(update={"energy_model": model})  # type: ignore[union-attr]
    experiment = config.experiments["checkerboard"].model_copy(update={"crystals": crystals})
    without = config.model_copy(update={"experiments": {"checkerboard": experiment}})
    run = partial(evaluate, without, "checkerboard", relaxed=0, rows=None, hull=None, output=tmp_path / "output")
    with pytest.raises(KinoflowError, match="orb-models is not installed; run `pip install"):
        run(path=tmp_path / "no such file")


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


def test_a_killed_evaluation_goes_on_and_gives_the_same_bytes(
    config: Config, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = partial(evaluate, config, "checkerboard", path=folder, relaxed=None, **references(tmp_path))
    run(output=tmp_path / "calm")

    def killed(*arguments: Any, **settings: Any) -> None:
        raise KeyboardInterrupt

    tried, try_tasks = list[str](), workers._try_tasks

    def counted(*arguments: Any, label: str, **settings: Any) -> Any:
        tried.extend([label] * len(arguments[2]))
        return try_tasks(*arguments, label=label, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_csv", killed)
        with pytest.raises(KeyboardInterrupt):
            run(output=tmp_path / "killed")
    monkeypatch.setattr(workers, "_try_tasks", counted)
    run(output=tmp_path / "killed", workers=2)
    assert not {"description", "relaxing", "matching"} & set(tried)
    calm, again = ({file.name: file for file in (tmp_path / name).iterdir()} for name in ("calm", "killed"))
    assert calm.keys() == again.keys()
    for name in (
        "structures.parquet",
        "structures.csv",
        "relaxed.parquet",
        "relaxed.extxyz",
        "ranked.zip",
        "README.md",
    ):
        assert calm[name].read_bytes() == again[name].read_bytes(), name


def test_exact_copies_are_described_and_relaxed_once(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = [rock_salt(f"copy {number}") for number in range(3)]
    write_table(tmp_path / "copies.parquet", table(*copies, caesium_chloride("other", 3.3, (12, 47))))
    tried, try_tasks = dict[str, int](), workers._try_tasks

    def counted(*arguments: Any, label: str, **settings: Any) -> Any:
        tried[label] = len(arguments[2])
        return try_tasks(*arguments, label=label, **settings)

    monkeypatch.setattr(workers, "_try_tasks", counted)
    output = tmp_path / "output"
    given = {"path": tmp_path / "copies.parquet", "rows": None, "hull": references(tmp_path)["hull"]}
    evaluate(config, "checkerboard", relaxed=3, output=output, **given)
    assert (tried["description"], tried["relaxing"]) == (2, 1)
    found = read_table(output / "structures.parquet")
    assert found["id"].tolist() == ["copy 0", "copy 1", "copy 2", "other"]
    assert found["relaxed"].tolist() == [True, True, True, False]
    assert found["kind"].tolist() == ["copy 0", "copy 0", "copy 0", "other"]
    assert len(set(found["energy_above_hull"][:3])) == 1
    with zipfile.ZipFile(output / "ranked.zip") as archive:
        assert archive.namelist() == ["001_NaCl.cif", "002_NaCl.cif", "003_NaCl.cif"]


def test_what_does_not_parse_is_attempted_but_not_relaxed(
    config: Config, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "output"
    scores = evaluate(config, "checkerboard", path=folder, relaxed=None, output=output, **references(tmp_path))
    found = read_table(output / "structures.parquet").set_index("id")
    assert found.loc["d_broken", ["attempted", "relaxed"]].tolist() == [True, False]
    assert scores["relaxed"] == 5
    printed = capsys.readouterr().out
    assert "\nhull: a test (" in printed
    assert "\nenergy model: CHGNet" in printed
    assert "1 of 5 cannot be used:\n  d_broken: does not parse: no data block with atoms\n" in printed
    assert f"{output / 'ranked.zip'}: relaxed crystals" in printed
    assert "- energy model: CHGNet" in (output / "summary.md").read_text()


def test_judges_of_the_configuration_say_their_own(config: Config, folder: Path, tmp_path: Path) -> None:
    block = config.experiments["checkerboard"]
    assert block.crystals is not None
    judges = (EnergyModelChoice.model_validate({"name": "sevennet", "weights": "7net-0"}),)
    crystals = block.crystals.model_copy(update={"judges": judges})
    changed = config.model_copy(
        update={"experiments": {"checkerboard": block.model_copy(update={"crystals": crystals})}}
    )
    output = tmp_path / "output"
    evaluate(changed, "checkerboard", path=folder, relaxed=1, output=output, **references(tmp_path))
    found = read_table(output / "structures.parquet").set_index("id")
    assert found["energy_above_hull_sevennet_7net_0"].notna().tolist() == [True, False, False, False, False]
    assert read_table(output / "judged.parquet")["model"].str.startswith("SevenNet 7net-0").all()
    assert "- judges: SevenNet 7net-0" in (output / "summary.md").read_text()
    assert "`verdict_sevennet_7net_0` |  | the verdict by this energy |" in (output / "README.md").read_text()
