"""The two ways to start a job."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.job_start import commands, run


def test_both_ways_make_the_same_table(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    for command in commands(tiny_file(), "checkerboard", tmp_path):
        run(command)
    for ending in ("csv", "md", "json"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes() != b""
