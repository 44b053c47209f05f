"""The study of recipes of training."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.recipes import study
from benchmarks.recipes.figure import draw
from benchmarks.recipes.study import Study
from pipeline.errors import KinoflowError


def small_study(folder: Path, **recipes: dict[str, Any]) -> Study:
    block = "experiments.checkerboard"
    settings = [f"{block}.data.train=200", f"{block}.data.validation=20", f"{block}.model.width=8"]
    base = {"path": {"name": "mask", "scheduler": "cubic"}, "loss": "cross_entropy", "training": {"batch": 16}}
    return Study("boards", folder, "demo", "checkerboard", settings, base, 0.0001, 0, recipes)


def test_recipes_get_the_same_time_and_are_judged_alike(tmp_path: Path) -> None:
    boards = small_study(tmp_path, plain={}, bound={"loss": "mixture_elbo"})
    rows = [boards.measured(name) for name in boards.recipes]
    assert [row["steps"] for row in rows] == [study.ROUND, study.ROUND]  # the least
    assert all(1 < row["validation_loss"] < 4 for row in rows)
    pd.testing.assert_frame_equal(boards.table(), pd.DataFrame(rows), rtol=1e-3, check_dtype=False)
    draw(boards.table(), tmp_path / "boards.png")
    assert (tmp_path / "boards.png").stat().st_size > 5000


def test_what_is_in_the_table_is_not_trained_again_unless_its_settings_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = small_study(tmp_path, plain={}).measured("plain")
    trained = []
    monkeypatch.setattr(study, "train", lambda job, **paths: trained.append(job.run.training.learning_rate))
    assert small_study(tmp_path, plain={}).measured("plain")["validation_loss"] == pytest.approx(
        first["validation_loss"], rel=1e-3
    )
    with pytest.raises(KinoflowError, match="weights: cannot be read"):
        small_study(tmp_path, plain={"training": {"learning_rate": 0.5}}).measured("plain")
    assert trained == [0.5]


def test_images_are_prepared(tmp_path: Path) -> None:
    changes = ("data.images.train=40", "data.images.validation=10", "model.channels=8", "model.head_channels=8")
    settings = [f"experiments.pixels.{change}" for change in changes]
    base = {"path": {"name": "mask", "scheduler": "cubic"}, "loss": "cross_entropy"}
    digits = Study("digits", tmp_path, "demo", "pixels", settings, base, 0.0001, 0, {"plain": {}})
    assert 0 < digits.measured("plain")["validation_loss"] < 4


@pytest.mark.parametrize("file", sorted(Path(study.__file__).parent.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_recipes_of_the_studies_are_valid(file: Path, tmp_path: Path) -> None:
    read = Study.read(file, tmp_path, None)
    for name, recipe in read.recipes.items():
        assert read.job(recipe).name == study.RUN, name


def test_the_readme_gives_numbers_of_the_tables() -> None:
    root = Path(study.__file__).parents[2]
    said = (root / "benchmarks/README.md").read_text().partition("What the tables have so far:")[2]
    tables = [pd.read_csv(file) for file in (root / "results/recipes/tables").glob("*.csv")]
    known = {f"{value:.3f}" for table in tables for value in table.select_dtypes("number").to_numpy().flatten()}
    found = re.findall(r"\d\.\d{3}", said)
    assert len(found) > 8
    assert set(found) <= known
