"""Tables of scores."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from world import World

from pipeline.cli import main
from pipeline.config.loading import load_config
from pipeline.report.columns import column_of, headlines, values_in
from pipeline.stages.job import Job
from pipeline.stages.table import table as table_stage

PATHS = {run: {"path": "some path"} for run in ("mask_linear", "metric")}


@pytest.fixture
def table(tiny_file: Callable[..., Path], tmp_path: Path) -> Callable[..., tuple[list[dict[str, str]], str]]:
    def make(**scores: dict[str, float]) -> tuple[list[dict[str, str]], str]:
        files = []
        for run, metrics in scores.items():
            files.append(tmp_path / f"{run}.json")
            files[-1].write_text(
                json.dumps({"conditions": {"run": run, "n": 5} | PATHS.get(run, {}), "metrics": metrics})
            )
        output = {
            "csv": tmp_path / "table.csv",
            "markdown": tmp_path / "table.md",
            "numbers": tmp_path / "numbers.json",
        }
        table_stage(Job(load_config(tiny_file()), "checkerboard"), scores=files, **output)
        with output["csv"].open() as stream:
            return list(csv.DictReader(stream)), output["markdown"].read_text()

    return make


def test_runs_come_in_the_order_of_the_configuration_and_references_last(table: Callable) -> None:
    rows, _ = table(independent={"x": 1.0}, data={"x": 2.0}, metric={"x": 3.0}, mask_linear={"x": 4.0})
    assert [row["run"] for row in rows] == ["mask_linear", "metric", "held-out data", "independent columns"]
    assert [row["x"] for row in rows] == ["4.0", "3.0", "2.0", "1.0"]


def test_a_run_without_scores_is_shown_as_not_run(table: Callable) -> None:
    rows, markdown = table(metric={"x": 1.0})
    assert rows[0] == {"run": "mask_linear", "n": "not run", "path": "not run", "x": "not run"}
    assert rows[1] == {"run": "metric", "n": "5", "path": "some path", "x": "1.0"}
    assert "not run" not in markdown, "a column that is empty in all other rows is not printed"
    _, markdown = table(metric={"total_variation": 1.0})
    assert markdown.splitlines()[2].split("|")[2].strip() == "not run"


def test_a_metric_that_a_row_does_not_have_stays_empty(table: Callable) -> None:
    rows, _ = table(mask_linear={"x": 1.0, "y": 2.0}, metric={"x": 3.0})
    assert [row["y"] for row in rows[:2]] == ["2.0", ""]


def test_the_csv_file_has_all_digits_and_the_markdown_file_four(table: Callable) -> None:
    rows, markdown = table(metric={"total_variation": 0.123456789})
    assert rows[1]["total_variation"] == "0.123456789"
    assert "| total variation |" in markdown
    assert "0.1235" in markdown


def test_a_standard_error_stands_beside_its_value_and_one_of_zero_does_not(table: Callable) -> None:
    exact = {"frechet_distance": 5.0, "frechet_distance_error": 0.0}
    rows, markdown = table(metric={"frechet_distance": 20.0, "frechet_distance_error": 0.1234}, mask_linear=exact)
    assert [row["frechet_distance_error"] for row in rows[:2]] == ["0.0", "0.1234"]
    assert "| 20 ± 0.12 " in markdown
    assert "error |" not in markdown
    assert "5 ±" not in markdown


def test_the_short_table_has_four_headlines_in_narrow_lines_with_units_and_meanings(table: Callable) -> None:
    rates = ("validity", "stability_rate", "metastability_rate", "msun_rate", "coverage_recall")
    scores = {name + end: 12.345 for name in rates for end in ("", "_low", "_high")}
    rows, markdown = table(metric=scores | {"mean_rmsd": 1.0})
    assert max(map(len, markdown.splitlines())) < 100
    headings = [cell.strip() for cell in markdown.splitlines()[0].split("|")[1:-1]]
    assert headings == ["run", "valid, %", "stable, %", "metastable, %"], "as many as fit, at most four"
    assert "12.3 [12.3, 12.3]" in markdown
    assert "- valid, %: generated structures whose atoms are apart" in markdown
    assert "(higher is better)" in markdown
    assert rows[1]["mean_rmsd"] == "1.0"
    assert "All columns: table.csv" in markdown


def test_a_null_that_beats_a_run_is_remarked(table: Callable, tmp_path: Path) -> None:
    values = {"mask_linear": 0.5, "metric": 0.1, "independent": 0.3}
    _, markdown = table(**{run: {"total_variation": value} for run, value in values.items()})
    assert "- total variation: independent columns (0.3) beats mask_linear (0.5).\n" in markdown


def test_a_null_that_is_ahead_within_the_errors_does_not_beat_a_run(table: Callable) -> None:
    def rate(value: float) -> dict[str, float]:
        return {"validity": value, "validity_low": value - 6, "validity_high": value + 6}

    _, markdown = table(mask_linear=rate(50), metric=rate(62), independent=rate(70))
    assert "- valid: independent columns (70) beats mask_linear (50).\n" in markdown
    assert "- valid: independent columns (70) is ahead of metric (62), but within the errors.\n" in markdown


def test_every_column_of_a_score_has_a_unit_and_a_meaning_or_belongs_to_one() -> None:
    names = ["perplexity_sotu", "perplexity_sotu_error", "bound_nats", "bound_error", "validity", "validity_low"]
    assert values_in(names) == ["perplexity_sotu", "bound_nats", "validity"]
    assert headlines(names) == ["bound_nats", "validity", "perplexity_sotu"]
    assert column_of("perplexity_sotu").heading == "perplexity sotu"
    assert column_of("bound_nats").heading == "bound, nats"


def test_the_numbers_are_of_the_runs_that_were_scored_and_of_nothing_else(table: Callable, tmp_path: Path) -> None:
    table(data={"x": 2.0}, metric={"x": 3.0, "y": 4, "unit": "nats", "sure": True})
    numbers = (tmp_path / "numbers.json").read_text()
    assert json.loads(numbers) == {"metric": {"x": 3.0, "y": 4}, "data": {"x": 2.0}}
    assert numbers.index("metric") < numbers.index("data")
    assert (tmp_path / "numbers.json.provenance.json").is_file()


@pytest.mark.parametrize(
    "content, why",
    [
        ("[1]", "holds no scores"),
        ('{"conditions": {}, "metrics": {}}', "its conditions name no run"),
        ('{"conditions": {"run": "metric"}, "metrics": {"x": NaN}}', "it holds NaN, which is no number in JSON"),
        ('{"conditions": {"run": "metric"}, "metrics": {"x": 1e999}}', "x is no finite number and no text"),
        ('{"conditions": {"run": "metric"}, "metrics": {"x": [1]}}', "x is no finite number and no text"),
        ("[" * 100_000, "cannot be read as JSON"),
    ],
)
def test_a_file_that_holds_no_scores_is_refused_by_its_name(
    tiny_file: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, why: str
) -> None:
    scores = tmp_path / "scores.json"
    scores.write_text(content)
    files = {"csv": tmp_path / "t.csv", "markdown": tmp_path / "t.md", "numbers": tmp_path / "n.json", "scores": scores}
    flags = [part for name, file in files.items() for part in (f"--{name}", str(file))]
    assert main(["table", "--config", str(tiny_file()), "--experiment", "checkerboard", *flags]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: {scores}: ")
    assert why in shown


def test_the_table_marks_a_run_whose_loss_ended_far_above_its_start(world_of_a_failed_training: str) -> None:
    assert "the loss rose from" in world_of_a_failed_training


@pytest.fixture
def world_of_a_failed_training(tmp_path: Path) -> str:
    """The table of a run that was trained at a learning rate of 1000."""
    world = World.begun(tmp_path)
    given = ("--experiment", "checkerboard", "--tokens", world.tokens("checkerboard"))
    weights, samples, scores = (tmp_path / name for name in ("weights", "samples", "scores.json"))
    made = {"checkpoints": tmp_path / "c", "weights": weights, "metrics": tmp_path / "m", "history": tmp_path / "h"}
    flags = [part for name, file in made.items() for part in (f"--{name}", file)]
    rate = "experiments.checkerboard.training.learning_rate=1e3"
    assert world.prepare("checkerboard") == 0
    assert world.run("train", *given, "--run", "metric", *flags, "--set", rate) == 0
    assert world.run("sample", *given, "--run", "metric", "--weights", weights, "--output", samples) == 0
    assert world.run("score", *given, "--samples", samples, "--output", scores) == 0
    table = {"csv": tmp_path / "t.csv", "markdown": tmp_path / "t.md", "numbers": tmp_path / "n.json", "scores": scores}
    flags = [part for name, file in table.items() for part in (f"--{name}", file)]
    assert world.run("table", "--experiment", "checkerboard", *flags) == 0
    return table["markdown"].read_text()
