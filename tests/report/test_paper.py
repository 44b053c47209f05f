"""The paper's rows beside ours."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.config.loading import load_config
from pipeline.config.problems import ConfigError
from pipeline.stages.job import Job
from pipeline.stages.table import table as table_stage
from pipeline.store.paper import rows_of_paper

LABEL = "tab:material_generation"


def test_every_row_of_the_paper_has_all_figures_of_its_table() -> None:
    rows = rows_of_paper(LABEL)
    assert len(rows) == 7
    figures = set(rows[0]) - {"run", "NFE"}
    assert all(figures <= set(row) for row in rows)
    assert {row["ours"] for row in rows if "ours" in row} == {"ar", "mask_cubic", "mask_ko"}


@pytest.fixture
def table(tiny_file: Callable[..., Path], tmp_path: Path) -> tuple[list[dict[str, str]], str]:
    runs = {"mask_ko": {"path": {"name": "mask"}, "loss": "cross_entropy"}}
    config = load_config(tiny_file({"experiments": {"checkerboard": {"paper": LABEL, "runs": runs}}}))
    metrics = {"dft_stability_rate": 3.02, "dft_stability_rate_low": 1.0, "dft_stability_rate_high": 5.55}
    metrics["stability_rate"] = 50.0  # by an energy model
    score = {"conditions": {"run": "mask_ko", "n": 5, "NFE": 9}, "metrics": metrics}
    (tmp_path / "score.json").write_text(json.dumps(score))
    table_stage(
        Job(config, "checkerboard"),
        scores=[tmp_path / "score.json"],
        csv=tmp_path / "table.csv",
        markdown=tmp_path / "table.md",
        numbers=tmp_path / "numbers.json",
    )
    with (tmp_path / "table.csv").open() as stream:
        return list(csv.DictReader(stream)), (tmp_path / "table.md").read_text()


def test_the_papers_rows_are_marked_and_come_last(table: tuple[list[dict[str, str]], str]) -> None:
    rows, _ = table
    assert [row["origin"] for row in rows] == ["ours"] * 5 + ["paper"] * 7
    mine = next(row for row in rows if row["run"] == "mask_ko")
    theirs = rows[-1]
    assert (mine["dft_stability_rate"], theirs["dft_stability_rate"]) == ("3.02", "7.02")
    assert theirs["coverage_recall"] == "90.11"
    assert mine["coverage_recall"] == ""


def test_a_run_that_was_not_made_never_shows_the_papers_figure(table: tuple[list[dict[str, str]], str]) -> None:
    rows, _ = table
    assert next(row for row in rows if row["run"] == "mask_linear")["dft_stability_rate"] == "not run"


def test_the_difference_from_the_paper_is_given_for_the_runs_that_it_has(
    table: tuple[list[dict[str, str]], str],
) -> None:
    _, markdown = table
    below = markdown.split("Ours minus the paper's:")[1]
    assert "mask_ko" in below
    assert "-4" in below
    assert "43" not in below  # nor is a rate by an energy model subtracted from one by DFT
    assert "mask_linear" not in below


def test_an_interval_stands_in_the_cell_of_its_rate(table: tuple[list[dict[str, str]], str]) -> None:
    _, markdown = table
    assert "3.02 [1, 5.55]" in markdown
    assert "stability rate low" not in markdown


def test_a_table_that_the_paper_does_not_have_is_refused_with_the_configuration(
    tiny_file: Callable[..., Path],
) -> None:
    with pytest.raises(ConfigError, match=r"experiments.checkerboard.paper.*did you mean 'tab:material_generation'"):
        load_config(tiny_file({"experiments": {"checkerboard": {"paper": "tab:material_generatoin"}}}))
