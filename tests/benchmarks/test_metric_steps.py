"""The benchmark of steps on metric paths runs, and its slow way is the same step."""

import pytest

from benchmarks import metric_steps
from pipeline.flow.closed_forms import metric


def test_steps_are_compared_at_every_time() -> None:
    answers = metric_steps.answers(codes=16, tokens=20, pixels=300)
    assert [answer.case.rpartition("t = ")[2] for answer in answers] == [
        *("0.2", "0.5", "0.9"),
        *("0.5", "0.5"),
        *("0.2", "0.5", "0.9"),
    ]
    assert all(answer.ratio > 0 for answer in answers)
    assert "grow with K to the power" in answers[1].note


def test_the_slow_way_moves_the_same_tokens_to_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (metric, metric_steps):
        monkeypatch.setattr(module, "LARGEST_TABLE", 4)
    note = metric_steps.step(metric_steps.code_path(64), 500, 0.5, "codes").note
    assert "100.00% are where rows put them" in note
    assert not note.startswith("0.0%")
