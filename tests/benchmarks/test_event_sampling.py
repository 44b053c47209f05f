"""The benchmark of event-driven sampling, on two crystals."""

import subprocess
from types import SimpleNamespace

import pytest

from benchmarks import event_sampling, peer
from pipeline.crystals.networks.crystal_dit import Options

TINY = Options(width=8, depth=1, heads=2, dropout=0.0)


def test_it_compares_both_ways_and_says_how_the_time_grows() -> None:
    answers = event_sampling.answers(crystals=2, steps=(5,), peer_steps={}, options=TINY, sizes=(1, 2))
    assert [answer.case for answer in answers] == [
        "2 crystals, 5 steps",
        "events: growth with steps",
        "events: growth with crystals",
        "events: growth with tokens",
    ]
    assert answers[0].ways == ("steps", "events")
    assert all(answer.ratio > 0 for answer in answers)


def test_it_says_so_if_the_peer_cannot_be_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peer, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda *given, **more: SimpleNamespace(returncode=1, stderr="no network\n"))
    answers = event_sampling.answers(crystals=2, steps=(5,), peer_steps={5: 1}, options=TINY, sizes=(1, 2))
    assert not [answer for answer in answers if "flow_matching" in answer.ways]
    assert "left out: flow_matching==1.0.10 could not be installed: no network" in capsys.readouterr().out
