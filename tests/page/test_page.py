"""What the results page is made from, and what it says of a run that was stopped."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from small_results import SmallResults

from pipeline.page.build import SITE, VENDOR, as_json


def contents(small: SmallResults, experiment: str) -> dict[str, Any]:
    text = (small.folder / f"report/data/{experiment}.js").read_text()
    found = re.fullmatch(r"KINOFLOW\.experiments\.push\((.*)\);\n", text, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def test_the_page_has_the_figures_of_the_scores_with_their_errors(small: SmallResults) -> None:
    found = contents(small, "checkerboard")
    rows = {row["name"]: row for row in found["rows"]}
    score = json.loads((small.folder / "scores/checkerboard/metric.json").read_text())
    assert rows["metric"]["figures"]["total_variation"]["value"] == score["metrics"]["total_variation"]
    assert rows["metric"]["conditions"] == score["conditions"]
    assert found["headlines"][0] == "total_variation"
    assert [(row["name"], row["kind"]) for row in found["rows"][2:]] == [("data", "data"), ("independent", "null")]


def test_the_page_of_a_stopped_run_says_what_is_not_there(
    small: SmallResults, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = {name: contents(small, name)["missing"] for name in ("checkerboard", "materials")}
    assert missing["checkerboard"] == ["mask_linear: not trained yet"]
    assert "held-out data: sampled, not scored yet" in missing["materials"]
    small.run("report-page", "--output", str(small.folder / "again"))
    printed = capsys.readouterr().out.splitlines()
    assert "not there yet: checkerboard, mask_linear: not trained yet" in printed
    assert printed[-1] == (small.folder / "again/index.html").as_uri()


def test_every_figure_has_the_records_of_what_it_was_made_from(small: SmallResults) -> None:
    found = contents(small, "checkerboard")
    row = next(row for row in found["rows"] if row["name"] == "metric")
    assert row["files"] == [
        "scores/checkerboard/metric.json",
        "samples/checkerboard/metric.safetensors",
        "models/checkerboard/metric.safetensors",
        "tokens/checkerboard.safetensors",
    ]
    for file in row["files"]:
        record = found["records"][file]
        digest = hashlib.sha256((small.folder / file).read_bytes()).hexdigest()
        assert digest.startswith(record["sha256"])
        assert {"seed", "code", "settings", "inputs", "command", "started", "wall_seconds"} <= record.keys()


def test_crystals_come_as_generated_and_as_relaxed_with_their_energies(small: SmallResults) -> None:
    crystals = contents(small, "materials")["crystals"]
    assert len(crystals) == 3
    assert {one["run"] for one in crystals} == {"held-out data"}
    for one in crystals:
        sides = [float(re.search(r"_cell_length_a +(\S+)", one[part])[1]) for part in ("generated", "relaxed")]  # type: ignore[index]
        assert sides[1] == pytest.approx(1.01 * sides[0], rel=1e-6)
        steps = [(step["step"], step["lengths"][0], len(step["fractions"])) for step in one["steps"]]
        atoms = 3 * len(one["elements"])
        assert steps == [(0, pytest.approx(sides[0], abs=1e-4), atoms), (3, pytest.approx(sides[1], abs=1e-4), atoms)]
    known = [one["energy_above_hull"] for one in crystals if one["energy_above_hull"] is not None]
    assert known == sorted(known)


def test_each_path_goes_from_its_source_to_the_data(small: SmallResults) -> None:
    paths = contents(small, "checkerboard")["paths"]
    assert [path["runs"] for path in paths] == [["mask_linear"], ["metric"]]
    for path in paths:
        (kind,) = path["kinds"]
        assert (kind["times"][0], kind["times"][-1]) == (0, 1)
        for row, rest in zip(kind["p"], kind["rest"], strict=True):
            assert sum(row) + rest == pytest.approx(1, abs=1e-3)
        assert kind["p"][-1][kind["tokens"].index(kind["x1"])] == 1
    mask = paths[0]["kinds"][0]
    assert mask["p"][0][mask["tokens"].index("mask")] == 1
    middle = dict(zip(mask["tokens"], mask["p"][15], strict=True))
    assert (middle[mask["x1"]], middle["mask"]) == (0.6, 0.4), "a linear scheduler has moved t of the probability"
    assert len(contents(small, "materials")["paths"][0]["kinds"]) == 4


def test_texts_and_histograms_are_those_of_the_samples(small: SmallResults) -> None:
    assert len(contents(small, "text")["texts"]["data"]) == 6
    boards = contents(small, "checkerboard")["boards"]
    assert boards["metric"]["times"] == [0, 0.5, 1]
    for shares in boards["metric"]["shares"]:
        assert sum(map(sum, shares)) == pytest.approx(1, abs=1e-3)


def test_the_page_refers_to_files_of_its_own_only(small: SmallResults) -> None:
    page = small.folder / "report"
    named = re.findall(r'(?:src|href)="([^"]+)"', (page / "index.html").read_text())
    files = [name for name in named if not name.startswith("data:")]
    assert len(files) > 15
    assert [name for name in files if not (page / name).is_file()] == []
    for file in SITE.iterdir():
        assert "http" not in file.read_text().replace("http://www.w3.org/2000/svg", ""), file


def test_the_libraries_are_what_npm_has_with_their_licences() -> None:
    known = json.loads((VENDOR / "vendor.json").read_text())
    listed = {name for package in known for name in (*package["files"], package["licence_file"])}
    assert listed | {"vendor.json"} == {file.name for file in VENDOR.iterdir()}
    for package in known:
        assert package["licence"] in ("MIT", "BSD-3-Clause", "Unlicense")
        for name, digest in package["files"].items():
            assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def test_numbers_that_json_lacks_are_left_out() -> None:
    assert as_json({"a": [float("nan"), 1.5], "b": float("inf")}) == '{"a":[null,1.5],"b":null}'


def test_the_page_is_short_enough_to_be_read() -> None:
    for file in Path(SITE).iterdir():
        assert file.read_text().count("\n") <= 250, file
