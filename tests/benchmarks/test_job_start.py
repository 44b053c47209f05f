"""The two ways to start a job."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.job_start import commands, run


def test_both_ways_make_the_same_table(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    for command in commands(tiny_file(), "checkerboard", tmp_path):
        run(command)
    for ending in ("csv", "md", "json"):
        ours, theirs = ((tmp_path / f"{name}.{ending}").read_text() for name in ("a", "b"))
        assert ours.replace("a.csv", "b.csv") == theirs != ""
