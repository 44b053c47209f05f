"""The benchmarks run, on small sizes."""

import runpy
from pathlib import Path

import pytest

from pipeline.flow.paths import build_path
from pipeline.flow.steps import Transition
from pipeline.flow.velocities.campbell import campbell
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_closed_forms_are_compared_with_the_general_ones() -> None:
    functions = runpy.run_path(str(BENCHMARKS / "closed_forms.py"))
    assert functions["jump_ratio"]("mask", 50, 10) > 0
    assert functions["marginal_ratio"](8, 4) > 0


def test_campbell_strays_further_than_the_kinetic_optimal_velocity() -> None:
    strays = runpy.run_path(str(BENCHMARKS / "step_error.py"))["strays"]
    path = build_path("metric", Vocabulary.single(16))
    ours, theirs = (strays(Transition(path, velocity), 5, 32) for velocity in (kinetic_optimal, campbell))
    assert 0 < 2 * ours < theirs


def test_event_driven_sampling_is_compared_with_steps(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(BENCHMARKS / "event_sampling.py"))["main"](crystals=2, numbers=(4,))
    assert "instead of 4" in capsys.readouterr().out


def test_every_benchmark_is_listed() -> None:
    listed = (BENCHMARKS / "README.md").read_text()
    assert all(f"`{file.name}`" in listed for file in BENCHMARKS.glob("*.py"))
