"""The laws of schemes, by the oracle bench: what they converge to, how fast, and that samples have these laws."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import chisquare

from pipeline.config import DataChoice, Oracle
from pipeline.errors import KinoflowError
from pipeline.flow.errors import FlowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.known.bench.claims import Steps, verdicts
from pipeline.known.bench.errors import drawn, errors_of_law
from pipeline.known.bench.law import Laws
from pipeline.known.bench.measure import measure
from pipeline.known.bench.rows import Row, rows_of
from pipeline.known.bench.truth import Truth
from pipeline.known.chain import Chains
from pipeline.store.journal import Journal

PATHS = {
    "mask": {"name": "mask"},
    "mask_cubic": {"name": "mask", "scheduler": "cubic"},
    "uniform": {"name": "uniform"},
    "metric": {"name": "metric", "lp": 2, "a": 1, "c": 2},
}
PEAKED = DataChoice(name="markov", states=3, length=3, concentration=0.5)
SOFT = DataChoice(name="markov", states=3, length=3, concentration=30.0)  # no extrapolated probability is cut off
BOARD = DataChoice(name="checkerboard", levels=4, squares=2)
THETA, CONFIDENCE = "theta_trapezoidal", "confidence"


def bench(**changes: Any) -> Oracle:
    return Oracle.model_validate_json(
        json.dumps({"distributions": 2, "paths": PATHS, "rows": [{"steps": [4]}]} | changes)
    )


def truth_of(data: DataChoice) -> Truth:
    return Truth.of(data, bench())


def independent(frequencies: list[float]) -> Truth:
    """Return three tokens that do not depend on each other."""
    start = torch.tensor([frequencies], dtype=torch.float64)
    size = len(frequencies)
    chains = Chains(start, start[:, None].expand(1, size, size), torch.eye(size, dtype=torch.float64)[None])
    return Truth(Vocabulary.single(size, specials=1), 3, chains, None)


def law_of(truth: Truth, path: str, evaluations: int, scheme: str = "plain", step: str = "exact", **options: Any):
    row = Row(path, "kinetic_optimal", (), step, "uniform", None, evaluations, scheme, tuple(options.items()))
    return Laws(truth, truth.path(bench().paths[path])).law(row)


def error(truth: Truth, *row: Any, **options: Any) -> float:
    found = errors_of_law(truth, law_of(truth, *row, **options))["pairs"]
    return sum(found) / len(found)


@pytest.mark.parametrize(
    "path, scheme, options",
    [
        *((path, THETA, {"theta": 0.4}) for path in PATHS),
        ("mask", CONFIDENCE, {}),
        ("mask_cubic", CONFIDENCE, {"temperature": 0.3}),
    ],
)
def test_the_law_is_that_of_the_samples(path: str, scheme: str, options: dict[str, float]) -> None:
    truth, count = truth_of(PEAKED), 20_000
    row = Row(path, "kinetic_optimal", (), "exact", "uniform", None, 6, scheme, tuple(options.items()))
    built = truth.path(bench().paths[path])
    law = Laws(truth, built).law(row)
    torch.testing.assert_close(law.flatten(1).sum(-1), torch.ones(2, dtype=torch.float64))
    cells = (drawn(truth, built, row, count, torch.Generator().manual_seed(0)) * torch.tensor([9, 3, 1])).sum(-1)
    for of_one, expected in zip(cells.view(2, count), law.flatten(1), strict=True):
        seen = torch.bincount(of_one, minlength=27)
        assert float(chisquare(seen, count * expected).pvalue) > 1e-4


@pytest.mark.parametrize("path", ["mask", "mask_cubic", "uniform"])
def test_on_mixtures_the_error_falls_by_the_square_of_the_step_where_a_plain_one_halves(path: str) -> None:
    truth = truth_of(SOFT)
    for few in (16, 32):
        assert error(truth, path, few, THETA) / error(truth, path, 2 * few, THETA) > 3.5
        assert 1.7 < error(truth, path, few) / error(truth, path, 2 * few) < 2.4
        assert 1.5 < error(truth, path, few, step="euler") / error(truth, path, 2 * few, step="euler") < 2.6


@pytest.mark.parametrize("step", ["exact", "euler"])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("data", [PEAKED, SOFT], ids=["peaked", "soft"])
def test_at_equal_evaluations_second_order_beats_first_order(data: DataChoice, path: str, step: str) -> None:
    truth = truth_of(data)
    assert error(truth, path, 16, THETA) < 0.8 * error(truth, path, 16, step=step)


@pytest.mark.parametrize("evaluations", [2, 4, 16])
def test_tokens_that_decide_each_other_are_wrong_as_often_as_with_plain_steps(evaluations: int) -> None:
    """On a checkerboard only two tokens that are drawn at once are wrong, and no extrapolation can help."""
    truth = truth_of(BOARD)
    assert error(truth, "mask", evaluations, THETA) == pytest.approx(error(truth, "mask", evaluations))


@pytest.mark.parametrize("theta", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("path", PATHS)
def test_every_theta_tends_to_the_truth(path: str, theta: float) -> None:
    truth = truth_of(SOFT)
    coarse, fine = (error(truth, path, evaluations, THETA, theta=theta) for evaluations in (16, 128))
    assert fine < coarse / 6
    assert fine < 5e-4


@pytest.mark.parametrize("evaluations", [2, 4, 10])
@pytest.mark.parametrize("path", PATHS)
def test_independent_tokens_are_right_after_any_number_of_steps_of_second_order(path: str, evaluations: int) -> None:
    """On mixtures the step given x1 is exact, too; on a metric path it is what the plain scheme makes of it."""
    truth = independent([0.6, 0.3, 0.1])
    law, plain = law_of(truth, path, evaluations, THETA), law_of(truth, path, evaluations)
    expected = plain if path == "metric" else truth.probabilities
    assert float((law - expected).abs().sum()) < (0.1 if path == "metric" else 1e-7)


def test_the_order_of_confidence_does_not_tend_to_the_truth() -> None:
    truth = truth_of(PEAKED)
    few, many = (error(truth, "mask", steps, CONFIDENCE) for steps in (8, 64))
    assert many > 0.5 * few
    assert many > 5 * error(truth, "mask", 64)


def test_of_independent_tokens_the_order_of_confidence_favours_the_likely_unless_all_are_as_likely() -> None:
    skewed, even = independent([0.6, 0.3, 0.1]), independent([1 / 3] * 3)
    for steps in (2, 3, 8):
        for temperature in (0.0, 0.5):
            single = law_of(skewed, "mask", steps, CONFIDENCE, temperature=temperature).sum((0, 2, 3))
            assert float(single[0]) > 0.63
        noisy = law_of(skewed, "mask", steps, CONFIDENCE, temperature=1e6)
        torch.testing.assert_close(noisy, skewed.probabilities, rtol=0, atol=1e-5)
        torch.testing.assert_close(
            law_of(even, "mask", steps, CONFIDENCE), even.probabilities, rtol=0, atol=1e-9, msg="as sure as each other"
        )


def test_one_token_in_each_step_and_pure_noise_is_ancestral_sampling_in_a_random_order() -> None:
    truth = truth_of(PEAKED)
    assert error(truth, "mask", 3, CONFIDENCE, temperature=1e7) < 1e-5
    assert error(truth, "mask", 3) > 0.01  # here several tokens are sometimes drawn in one step


def test_evaluations_that_make_no_whole_steps_are_an_error() -> None:
    with pytest.raises(FlowError, match="5 evaluations, but 'theta_trapezoidal' makes 2 in each step"):
        law_of(truth_of(SOFT), "mask", 5, THETA)


def test_a_scheme_without_a_known_law_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline.known.bench import law

    monkeypatch.setattr(law, "STEPS_OF_LAWS", {})
    with pytest.raises(KinoflowError, match=r"scheme 'plain': its law cannot be computed; set oracle.law to samples"):
        law_of(truth_of(SOFT), "mask", 4)


def test_a_fitted_grid_is_fitted_on_other_chains_and_beats_equal_steps(tmp_path: Path, monkeypatch: Any) -> None:
    starts: list[int] = []
    made = Truth.of.__func__  # type: ignore[attr-defined]

    def of(cls: type[Truth], data: DataChoice, oracle: Oracle, key: str = "data", start: int = 0) -> Truth:
        starts.append(start)
        return made(cls, data, oracle, key, start)

    monkeypatch.setattr(Truth, "of", classmethod(of))
    oracle = bench(rows=[{"grid": ["uniform", "fitted"], "paths": ["mask_cubic", "metric"], "steps": [8]}])
    measured = measure(PEAKED, oracle, 0, Journal(tmp_path / "journal", "x"), "data")
    assert starts == [0, 2, 2]
    found = {
        (one["conditions"]["scheduler"], one["conditions"]["grid"]): sum(one["errors"]["pairs"])
        for one in measured
        if one["conditions"].get("velocity") == "kinetic_optimal"
    }
    for scheduler in ("cubic", "lp=2, a=1, c=2"):
        assert found[scheduler, "fitted"] < 0.9 * found[scheduler, "uniform"]


def test_one_distribution_alone_cannot_be_fitted(tmp_path: Path) -> None:
    oracle = bench(rows=[{"grid": ["fitted"], "paths": ["mask"], "steps": [4]}])
    with pytest.raises(KinoflowError, match=r"^data: a fitted grid needs other distributions to be fitted on"):
        measure(BOARD, oracle, 0, Journal(tmp_path / "journal", "x"), "data")


def test_a_fitted_row_needs_what_was_measured() -> None:
    truth = truth_of(SOFT)
    row = Row("mask", "kinetic_optimal", (), "exact", "fitted", None, 4)
    with pytest.raises(FlowError, match="fitted needs what was `measured`"):
        row.times(truth.path(bench().paths["mask"]))
    given = bench(rows=[{"grid": [{"name": "fitted", "measured": [3.0, 1.0]}], "paths": ["mask"], "steps": [4]}])
    assert replace(row, measured=(3.0, 1.0)) in rows_of(given)  # then there is no pilot run
    assert replace(row, measured=(3.0, 1.0)).times(truth.path(bench().paths["mask"]))[3] == 0.5


def test_schemes_and_fitted_grids_count_for_the_claims_about_them_only() -> None:
    common = {"path": "mask", "velocity": "kinetic_optimal", "step": "exact", "corrector": "none", "weight": ""}
    rows = [
        {"scheduler": scheduler, "scheme": scheme, "grid": grid, "NFE": 8} | common
        for scheduler in ("linear", "kinetic_optimal")
        for scheme in ("plain", THETA, CONFIDENCE)
        for grid in ("uniform", "equal_jumps", "fitted")
    ]
    measured = [{"conditions": row, "errors": {"pairs": [0.1, 0.2]}} for row in rows]
    found = {
        (row["claim"], row["smaller"], row["than"]): row["comparisons"]
        for row in verdicts(measured, Steps(8, 64))
        if row["path"] == "all"
    }
    assert found == {
        ("scheduler", "kinetic_optimal", "linear"): 2,  # on the two grids that are not fitted
        ("grid", "equal_jumps", "uniform"): 2,
        ("grid", "fitted", "uniform"): 2,
        ("grid", "fitted", "equal_jumps"): 2,
        ("second_order", THETA, "plain"): 4,
        ("confidence", CONFIDENCE, "plain"): 4,
    }
