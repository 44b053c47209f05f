"""The example script is short and runs as it is, and its samples follow its path."""

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "new_path.py"


def test_example_has_at_most_thirty_lines_and_samples_follow_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert len(EXAMPLE.read_text().splitlines()) <= 30
    names = runpy.run_path(str(EXAMPLE))
    assert (tmp_path / "new_path.png").stat().st_size > 10_000
    assert float((names["seen"] - names["exact"]).abs().sum()) / 2 < 0.02
