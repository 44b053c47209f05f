"""The oracle bench: its laws are those of the sampler, it notices a broken velocity, and what it says about claims."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from scipy.stats import chisquare

from pipeline.config import DataChoice, Oracle
from pipeline.errors import KinoflowError
from pipeline.known.bench.claims import CLAIMS, Steps, verdicts
from pipeline.known.bench.errors import drawn, errors_of_law, errors_of_samples, independent, labels_of
from pipeline.known.bench.law import Laws
from pipeline.known.bench.measure import NULL, TRUE, measure
from pipeline.known.bench.rows import CONTROL, Row, rows_of
from pipeline.known.bench.truth import Truth
from pipeline.store.journal import Journal

SHORT = DataChoice(name="markov", states=3, length=3, concentration=0.5)
LONG = DataChoice(name="markov", states=4, length=40, concentration=0.5)
BOARD = DataChoice(name="checkerboard", levels=4, squares=2)


def bench(**changes: Any) -> Oracle:
    """Return a small bench."""
    given = {
        "distributions": 2,
        "paths": {"mask": {"name": "mask"}, "metric": {"name": "metric", "lp": 2, "a": 1, "c": 2}},
        "rows": [{"steps": [4, 32]}],
    }
    return Oracle.model_validate_json(json.dumps(given | changes))


def row_of(path: str, steps: int, **changes: Any) -> Row:
    given = {"velocity": "kinetic_optimal", "options": (), "step": "exact", "grid": "uniform", "corrector": None}
    return Row(path=path, evaluations=steps, **given | changes)


def law_of(truth: Truth, oracle: Oracle, row: Row) -> torch.Tensor:
    return Laws(truth, truth.path(oracle.paths[row.path])).law(row)


CORRECTED = (
    bench(rows=[{"corrector": [{"weight": 1.0}, {"kind": "remask", "weight": 0.1}], "steps": [4]}]).rows[0].corrector
)


@pytest.mark.parametrize("corrector", [None, *CORRECTED], ids=["none", "velocity", "remask"])
@pytest.mark.parametrize("path", ["mask", "metric"])
def test_the_law_is_that_of_the_samples(path: str, corrector: Any) -> None:
    oracle, count = bench(), 20_000
    truth = Truth.of(SHORT, oracle)
    row = row_of(path, 4, corrector=corrector)
    law = law_of(truth, oracle, row)
    torch.testing.assert_close(law.flatten(1).sum(-1), torch.ones(2, dtype=torch.float64))
    tokens = drawn(truth, truth.path(oracle.paths[path]), row, count, torch.Generator().manual_seed(0))
    cells = (tokens * torch.tensor([9, 3, 1])).sum(-1).view(2, count)
    for of_one, expected in zip(cells, law.flatten(1), strict=True):
        assert float(chisquare(torch.bincount(of_one, minlength=27), count * expected).pvalue) > 1e-4
    assert float((truth.probabilities - law).abs().flatten(1).sum(-1).min()) / 2 > 0.03  # it is not just the truth


def test_a_law_comes_closer_to_the_truth_with_more_steps() -> None:
    oracle = bench()
    for data in (SHORT, BOARD):
        truth = Truth.of(data, oracle)
        for path in oracle.paths:
            few, many = (errors_of_law(truth, law_of(truth, oracle, row_of(path, steps))) for steps in (8, 64))
            assert all(b < a / 4 for a, b in zip(few["pairs"], many["pairs"], strict=True))


@pytest.mark.parametrize("steps", [1, 2, 5, 16])
def test_two_masked_tokens_are_wrong_only_if_they_are_drawn_in_one_step(steps: int) -> None:
    oracle = bench()
    truth = Truth.of(BOARD, oracle)
    found = errors_of_law(truth, law_of(truth, oracle, row_of("mask", steps)))
    assert found["pairs"] == [pytest.approx(0.5 / steps)]  # then half of the pairs are on squares without mass


def test_errors_of_the_truth_itself_are_zero_and_independent_tokens_have_some() -> None:
    truth = Truth.of(SHORT, bench())
    own, null = errors_of_law(truth, truth.probabilities), errors_of_law(truth, independent(truth))
    assert all(abs(value) < 1e-12 for values in own.values() for value in values)
    assert min(null["pairs"] + null["triples"] + null["excess_nats"]) > 0.01


def test_errors_of_many_fresh_samples_are_near_zero_and_of_wrong_ones_are_not() -> None:
    truth = Truth.of(LONG, bench(law="samples"))
    labels = labels_of(truth, 2000)
    fresh = truth.chains.sample(labels, 40, torch.Generator().manual_seed(0))  # type: ignore[union-attr]
    good, bad = errors_of_samples(truth, fresh), errors_of_samples(truth, fresh.flip(0))  # of each other's chain
    assert max(good["pairs"]) < 0.03
    assert max(abs(value) for value in good["excess_nats"]) < 0.03
    assert min(bad["pairs"]) > 0.2
    assert min(bad["excess_nats"]) > 0.2


def test_a_distribution_with_squares_that_have_no_mass_has_no_excess() -> None:
    truth = Truth.of(BOARD, bench())
    found = errors_of_law(truth, independent(truth))
    assert found["pairs"] == [pytest.approx(0.5)]
    assert set(found) == {"pairs"}


@pytest.mark.parametrize("law, data", [("exact", SHORT), ("samples", LONG)])
def test_a_velocity_with_a_wrong_sign_is_visible(law: str, data: DataChoice, tmp_path: Path) -> None:
    oracle = bench(law=law, distributions=3, count=60, rows=[{"steps": [32]}])
    measured = measure(data, oracle, 0, Journal(tmp_path / "journal", "x"), "data")
    pairs = {(one["conditions"]["path"], one["conditions"].get("velocity")): one["errors"]["pairs"] for one in measured}
    for path in oracle.paths:
        assert min(pairs[path, CONTROL]) > 3 * max(pairs[path, "kinetic_optimal"])
    said = [row for row in verdicts(measured, Steps(8, 32)) if row["claim"] == "control" and row["path"] == "all"]
    assert {row["verdict"] for row in said} == {"supported"}
    assert len(said) == 2
    assert {one["conditions"]["path"] for one in measured if "NFE" not in one["conditions"]} == (
        {NULL} if law == "exact" else {NULL, TRUE}
    )


def test_a_bench_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = bench(rows=[{"steps": [2, 4]}])
    calm = measure(SHORT, oracle, 0, Journal(tmp_path / "calm", "x"), "data")
    law, asked = Laws.law, []

    def stops(laws: Laws, row: Row) -> torch.Tensor:
        asked.append(row)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return law(laws, row)

    monkeypatch.setattr(Laws, "law", stops)
    with pytest.raises(KeyboardInterrupt):
        measure(SHORT, oracle, 0, Journal(tmp_path / "stopped", "x"), "data")
    assert measure(SHORT, oracle, 0, Journal(tmp_path / "stopped", "x"), "data") == calm
    assert len(asked) == len(rows_of(oracle)) + 1


def measured_pair(better: list[float], worse: list[float]) -> list[dict[str, Any]]:
    """Return two rows that differ in their velocity only."""
    common = {
        "path": "metric",
        "scheduler": "",
        "step": "exact",
        "scheme": "plain",
        "grid": "uniform",
        "corrector": "none",
        "weight": "",
    }
    return [
        {"conditions": common | {"velocity": velocity, "NFE": 16}, "errors": {"pairs": errors}}
        for velocity, errors in (("kinetic_optimal", better), ("campbell", worse))
    ]


@pytest.mark.parametrize(
    "better, worse, verdict",
    [
        ([0.1, 0.11, 0.12], [0.2, 0.21, 0.25], "supported"),
        ([0.2, 0.21, 0.25], [0.1, 0.11, 0.12], "not supported"),
        ([0.1, 0.2, 0.3], [0.2, 0.15, 0.3], "not resolved"),
    ],
)
def test_the_verdict_follows_from_the_interval(better: list[float], worse: list[float], verdict: str) -> None:
    found = list(verdicts(measured_pair(better, worse), Steps(8, 64)))
    assert [(row["path"], row["NFE"]) for row in found] == [("all", "all"), ("metric", "all"), ("metric", 16)]
    assert {row["verdict"] for row in found} == {verdict}
    assert all(
        (row["claim"], row["smaller"], row["than"]) == ("velocity", "kinetic_optimal", "campbell") for row in found
    )


def test_one_distribution_has_a_ratio_but_no_interval_and_no_verdict() -> None:
    for row in verdicts(measured_pair([0.1], [0.2]), Steps(8, 64)):
        assert row["error_ratio"] == pytest.approx(0.5)
        assert "error_ratio_low" not in row
        assert row["verdict"] == "no interval"


def test_a_ratio_is_a_geometric_mean_over_distributions() -> None:
    row = next(verdicts(measured_pair([0.1, 0.4], [0.2, 0.1]), Steps(8, 64)))
    assert row["error_ratio"] == pytest.approx(2**0.5)
    assert row["error_ratio_low"] < 0.5 < 4 < row["error_ratio_high"]


def test_rows_are_all_combinations_once_and_a_control_for_every_path() -> None:
    oracle = bench(
        rows=[
            {"steps": [4, 32]},
            {"velocity": ["campbell", {"name": "power", "alpha": 3.0}], "paths": ["metric"], "steps": [4]},
            {"corrector": [None, {"weight": 2.0, "fall": 1.0}], "steps": [32]},
        ]
    )
    rows = rows_of(oracle)
    assert len(rows) == 4 + 2 + 2 + 4
    assert sum(row.velocity == CONTROL for row in rows) == 4
    said = [row.conditions(oracle) for row in rows]
    assert {one["velocity"] for one in said} == {"kinetic_optimal", "campbell", "power (alpha=3.0)", CONTROL}
    assert {one["weight"] for one in said} == {"", "2 t (1-t)"}


@pytest.mark.parametrize(
    "data, changes, message",
    [
        (
            LONG,
            {},
            r"40 tokens of 5 values make \d+ sequences, too many to list \(at most 4096\); set oracle.law to samples",
        ),
        (
            DataChoice(name="checkerboard", levels=64, squares=4),
            {},
            "4225 sequences, too many to list .* take a smaller",
        ),
        (BOARD, {"law": "samples"}, "only of chains can samples be judged"),
        (DataChoice(name="pixels", images="digits"), {}, "the distribution of 'pixels' is not known"),
    ],
)
def test_what_cannot_be_measured_is_one_clear_error(data: DataChoice, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(KinoflowError, match=f"^experiments.x.data: .*{message}"):
        Truth.of(data, bench(**changes), "experiments.x.data")


def test_rows_of_a_path_that_does_not_exist_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"rows\.0\.paths: no path 'mas'; name some of mask, metric"):
        bench(rows=[{"paths": ["mas"], "steps": [2]}])


def test_claims_have_the_names_that_files_have() -> None:
    from pipeline.config.oracle import CLAIMS as NAMES

    assert tuple(claim.name for claim in CLAIMS) == NAMES


def test_the_commands_write_tables_and_a_figure_for_each_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline.cli import main

    monkeypatch.chdir(tmp_path)
    config = {
        "scale": "tiny",
        "experiments": {"chains": {"data": SHORT.model_dump(), "oracle": bench().model_dump(mode="json")}},
    }
    Path("tiny.yaml").write_text(json.dumps(config))
    common = ["--config", "tiny.yaml", "--experiment", "chains"]
    tables = ["--csv", "{}.csv", "--markdown", "{}.md", "--numbers", "{}.json"]
    main(
        [
            "oracle",
            *common,
            "--journal",
            "journal",
            "--output",
            "errors.json",
            *(one.format("oracle") for one in tables),
        ]
    )
    figures = [f"{claim.name}.png" for claim in CLAIMS]
    named = [one.format("claims") for one in tables]
    main(["claims", *common, "--measured", "errors.json", *named, "--figures", *figures])
    assert not Path("journal").exists()
    assert all(Path(figure).stat().st_size > 5000 for figure in figures)
    rows = list(csv.DictReader(Path("oracle.csv").read_text().splitlines()))
    assert len(rows) == 1 + 4 + 4
    assert {row["velocity"] for row in rows} == {"", "kinetic_optimal", CONTROL}
    assert all(float(row["pairs_low"]) <= float(row["pairs"]) <= float(row["pairs_high"]) for row in rows)
    said = {row["claim"]: row["verdict"] for row in csv.DictReader(Path("claims.csv").read_text().splitlines())}
    assert said == {"control": "supported"}
    assert "control: kinetic_optimal < wrong sign (control) (pairs)" in json.loads(Path("claims.json").read_text())
    assert "- velocity: on metric paths" in Path("claims.md").read_text()
