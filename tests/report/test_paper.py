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
    assert {row["data"] for row in rows} == {"mp20"}
    assert all(figures <= set(row) for row in rows)
    assert {row["ours"] for row in rows if "ours" in row} == {"ar", "mask_cubic", "mask_ko"}


@pytest.fixture
def table(tiny_file: Callable[..., Path], tmp_path: Path) -> Callable[[str], tuple[list[dict[str, str]], str]]:
    """Return a function that makes the table of a run that was trained on the data of this name."""

    def make(data: str) -> tuple[list[dict[str, str]], str]:
        runs = {"mask_ko": {"path": {"name": "mask"}, "loss": "cross_entropy"}}
        config = load_config(tiny_file({"experiments": {"checkerboard": {"paper": LABEL, "runs": runs}}}))
        metrics = {"dft_stability_rate": 3.02, "dft_stability_rate_low": 1.0, "dft_stability_rate_high": 5.55}
        metrics["stability_rate"] = 50.0  # by an energy model
        score = {"conditions": {"run": "mask_ko", "n": 5, "NFE": 9, "data": data}, "metrics": metrics}
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

    return make


def test_the_papers_rows_are_marked_come_last_and_share_no_column_with_ours(table: Callable) -> None:
    rows, markdown = table("mp20_part")
    assert [row["origin"] for row in rows] == ["ours"] * 5 + ["paper"] * 7
    ours, theirs = next(row for row in rows if row["run"] == "mask_ko"), rows[-1]
    assert (ours["dft_stability_rate"], ours["paper_dft_stability_rate"]) == ("3.02", "")
    assert (theirs["dft_stability_rate"], theirs["paper_dft_stability_rate"]) == ("", "7.02")
    assert "coverage_recall" not in ours, "a column that only the paper has is its own"
    assert "None of them can be compared with ours" in markdown


def test_the_papers_figure_stands_beside_a_run_that_was_trained_on_the_same_data(table: Callable) -> None:
    rows, markdown = table("mp20")
    compared = {row["run"]: row["paper_dft_stability_rate"] for row in rows if row["origin"] == "ours"}
    assert compared == {"mask_ko": "7.02"} | dict.fromkeys(set(compared) - {"mask_ko"}, "")
    assert "| stable (DFT), % | paper | stable, % |" in markdown.splitlines()[0]
    row = next(line for line in markdown.splitlines() if line.startswith("| mask_ko "))
    assert [cell.strip() for cell in row.split("|")[2:4]] == ["3.02 [1, 5.55]", "7.02"]


def test_a_run_that_was_not_made_never_shows_the_papers_figure(table: Callable) -> None:
    rows, _ = table("mp20")
    missing = next(row for row in rows if row["run"] == "mask_linear")
    assert (missing["dft_stability_rate"], missing["paper_dft_stability_rate"]) == ("not run", "")


def test_an_interval_stands_in_the_cell_of_its_rate(table: Callable) -> None:
    _, markdown = table("mp20")
    assert "3.02 [1, 5.55]" in markdown
    assert "low |" not in markdown


def test_no_line_of_the_short_table_is_wider_than_99_characters(table: Callable) -> None:
    for data in ("mp20", "mp20_part"):
        assert max(map(len, table(data)[1].splitlines())) < 100


def test_a_table_that_the_paper_does_not_have_is_refused_with_the_configuration(
    tiny_file: Callable[..., Path],
) -> None:
    with pytest.raises(ConfigError, match=r"experiments.checkerboard.paper.*did you mean 'tab:material_generation'"):
        load_config(tiny_file({"experiments": {"checkerboard": {"paper": "tab:material_generatoin"}}}))
