"""The table of sweeps: which points make a line, what is swept, and what is the paper's."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from small_images import image_config

from pipeline.images.sweeps import lines_of, named, papers_lines, pivot, points_of
from pipeline.stages.job import Job
from pipeline.stages.sweeps import sweeps as sweeps_stage
from pipeline.store.paper import rows_of_paper

DISTANCE = "frechet_distance"


def score(run: str, distance: float | None, **conditions: Any) -> dict[str, Any]:
    common = {} if run in ("data", "images") else {"temperature": 1.0}
    return {
        "conditions": {"run": run} | common | conditions,
        "metrics": {} if distance is None else {DISTANCE: distance},
    }


STEPS_8 = {"weights": "metric", "NFE": 8, "guidance": 1.0}
STEPS_64 = {"weights": "metric", "NFE": 64, "guidance": 1.0}
SCORES = [
    score("ar", 9.0, path="autoregressive", NFE=16, guidance=1.0),
    score("metric", 5.0, NFE=64, velocity="kinetic_optimal", corrector="none", guidance=1.0),
    score("metric_8", 7.0, weights="metric", NFE=8, velocity="kinetic_optimal", corrector="none", guidance=1.0),
    score("metric_c", 8.0, weights="metric", NFE=64, velocity="campbell", corrector="none", guidance=1.0),
    score("metric_w", 8.5, weights="metric", NFE=64, velocity="campbell", corrector="(weight=1.0)", guidance=1.0),
    score("metric_g", 4.0, weights="metric", NFE=64, velocity="kinetic_optimal", corrector="none", guidance=2.0),
    score("metric_s8", 6.0, velocity="campbell", corrector="none", searched="yes", **STEPS_8),
    score("metric_s64", 3.0, velocity="power_infinity", corrector="(weight=2.0)", searched="yes", **STEPS_64),
    score("unscored", None, NFE=64, velocity="kinetic_optimal"),
    score("data", 1.0),
    score("images", 0.5),
]


def test_points_are_of_runs_with_a_distance_and_name_network_and_velocity() -> None:
    points = points_of(SCORES)
    assert len(points) == 8
    assert points[0] == {"network": "ar", "NFE": 16, "guidance": 1.0, "temperature": 1.0, DISTANCE: 9.0}
    assert {point["network"] for point in points[1:]} == {"metric"}
    velocities = [point["velocity"] for point in points[1:]]
    assert velocities == [
        *("kinetic_optimal", "kinetic_optimal", "campbell", "campbell, corrector (weight=1.0)", "kinetic_optimal"),
        *("searched", "searched"),
    ]


def test_a_line_has_points_that_differ_in_the_swept_value_alone() -> None:
    points = points_of(SCORES)
    by_steps = {dict(line)["velocity"]: values for line, values in lines_of(points, "NFE").items()}
    assert by_steps == {"kinetic_optimal": {8: 7.0, 64: 5.0}, "searched": {8: 6.0, 64: 3.0}}
    (line,) = lines_of(points, "guidance").items()
    assert dict(line[0]) == {"network": "metric", "velocity": "kinetic_optimal", "NFE": 64, "temperature": 1.0}
    assert line[1] == {1.0: 5.0, 2.0: 4.0}


def test_values_of_a_line_are_in_their_order() -> None:
    points = [{"network": "a", "NFE": steps, DISTANCE: float(steps)} for steps in (64, 8, 16)]
    (values,) = lines_of(points, "NFE").values()
    assert list(values) == [8, 16, 64]


def test_a_single_point_is_no_line() -> None:
    assert lines_of(points_of(SCORES[:2]), "NFE") == {}
    assert lines_of([{"network": "a", DISTANCE: 1.0}, {"network": "b", DISTANCE: 1.0}], "guidance") == {}


def test_a_pivot_has_a_column_a_value_and_a_row_a_line() -> None:
    lines = pivot(papers_lines(rows_of_paper("tab:merged_cfg"), "guidance")).splitlines()
    assert max(map(len, lines)) < 100
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[:5])
    found = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert list(found) == ["LlamaGen", "DFM masked path", "DFM metric path"]
    assert (found["DFM metric path"]["1.3"], found["LlamaGen"]["1.3"]) == ("4.5", "")


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., tuple[list[dict[str, str]], str]]:
    def make(scores: Sequence[dict[str, Any]], experiment: str = "latents") -> tuple[list[dict[str, str]], str]:
        files = [tmp_path / f"{number}.json" for number in range(len(scores))]
        for file, found in zip(files, scores, strict=True):
            file.write_text(json.dumps(found))
        output = {name: tmp_path / f"sweeps.{name}" for name in ("csv", "markdown", "numbers")}
        sweeps_stage(Job(image_config(tmp_path), experiment), scores=files, **output)
        with output["csv"].open() as stream:
            return list(csv.DictReader(stream)), output["markdown"].read_text()

    return make


def test_the_numbers_are_ours_by_network_and_velocity(table: Callable, tmp_path: Path) -> None:
    table(SCORES)
    assert json.loads((tmp_path / "sweeps.numbers").read_text()) == {
        "metric, kinetic_optimal": {"NFE 8": 7.0, "NFE 64": 5.0, "guidance 1": 5.0, "guidance 2": 4.0},
        "metric, searched": {"NFE 8": 6.0, "NFE 64": 3.0},
    }


def test_lines_that_differ_in_something_else_are_named_by_it_too() -> None:
    lines = {(("network", "a"), ("velocity", "v"), ("top_k", k)): {8: 1.0 * k, 64: 2.0 * k} for k in (1, 2)}
    assert named(lines) == {"a, v, 1": {8: 1.0, 64: 2.0}, "a, v, 2": {8: 2.0, 64: 4.0}}


def test_the_papers_values_are_marked_as_the_papers(table: Callable) -> None:
    rows, markdown = table(SCORES)
    mine = [row for row in rows if row["origin"] == "ours"]
    assert [(row["swept"], row["NFE"], row["guidance"], row[DISTANCE]) for row in mine] == [
        ("NFE", "8", "1.0", "7.0"),
        ("NFE", "64", "1.0", "5.0"),
        ("NFE", "8", "1.0", "6.0"),
        ("NFE", "64", "1.0", "3.0"),
        ("guidance", "64", "1.0", "5.0"),
        ("guidance", "64", "2.0", "4.0"),
    ]
    papers = [row for row in rows if row["origin"] == "paper"]
    assert (
        len(papers)
        == len(rows) - len(mine)
        == len(rows_of_paper("tab:cond_path_nfe") + rows_of_paper("tab:merged_cfg"))
    )
    assert {row["network"] for row in papers} == {"LlamaGen", "DFM masked path", "DFM metric path"}
    assert {(row[DISTANCE], row["paper_frechet_distance"] == "") for row in papers} == {("", False)}
    assert {row["paper_frechet_distance"] for row in mine} == {""}
    assert "Fréchet distance by NFE:" in markdown
    assert "Fréchet distance by guidance:" in markdown


def test_an_experiment_without_such_a_table_in_the_paper_has_rows_of_its_own_alone(table: Callable) -> None:
    rows, markdown = table(SCORES, "pixels")
    assert len(rows) == 6
    assert {row["origin"] for row in rows} == {"ours"}
    assert "paper" not in markdown


def test_where_nothing_was_swept_the_table_is_empty_and_says_so(table: Callable) -> None:
    rows, markdown = table([*SCORES[:2], *SCORES[-2:]])
    assert rows == []
    assert markdown == "Nothing was swept.\n"


def test_what_was_swept_is_the_only_section(table: Callable) -> None:
    rows, markdown = table([SCORES[1], SCORES[5]])
    assert "Fréchet distance by NFE" not in markdown
    assert {row["swept"] for row in rows} == {"guidance"}
