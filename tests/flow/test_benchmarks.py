"""The benchmarks run, on small sizes."""

import runpy
from pathlib import Path

import pandas as pd
import pytest

import benchmarks.__main__ as command
from benchmarks import closed_forms, event_sampling
from benchmarks.timing import Comparison
from pipeline.flow.paths import build_path
from pipeline.flow.steps import Transition
from pipeline.flow.velocities.campbell import campbell
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_closed_forms_are_compared_with_the_general_ones() -> None:
    assert closed_forms.jump("mask", 50, 10).ratio > 0
    assert closed_forms.marginal(8, 4).ratio > 0


def test_campbell_strays_further_than_the_kinetic_optimal_velocity() -> None:
    strays = runpy.run_path(str(BENCHMARKS / "step_error.py"))["strays"]
    path = build_path("metric", Vocabulary.single(16))
    ours, theirs = (strays(Transition(path, velocity), 5, 32) for velocity in (kinetic_optimal, campbell))
    assert 0 < 2 * ours < theirs


def test_answers_are_kept_until_their_question_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "TABLE", tmp_path / "benchmarks.csv")
    for module, ratio in ((closed_forms, 2.0), (event_sampling, 3.0), (closed_forms, 5.0)):
        answer = Comparison("case", ("slow", "fast"), ratio, ratio, ratio, (ratio, 1.0))
        monkeypatch.setattr(module, "answers", lambda answer=answer: [answer])
        command.main([module.__name__.rpartition(".")[2]])
    table = pd.read_csv(tmp_path / "benchmarks.csv").set_index("question")
    assert table["ratio"].to_dict() == {"closed_forms": 5.0, "event_sampling": 3.0}
    assert "| event_sampling | case | slow / fast | 3 |" in (tmp_path / "benchmarks.md").read_text()
    assert "How much faster" in capsys.readouterr().out


def test_a_wrong_name_of_a_benchmark_is_an_error() -> None:
    with pytest.raises(SystemExit, match="closed_forms"):
        command.main(["closed_form"])


def test_every_benchmark_is_listed() -> None:
    listed = (BENCHMARKS / "README.md").read_text()
    assert all(f"`{file.name}`" in listed for file in BENCHMARKS.glob("[!_]*.py"))
