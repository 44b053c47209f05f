"""What a plugin reads is part of its contract: paths among its options, or what it declares."""

from pathlib import Path

import pytest

from pipeline.config import Strict
from pipeline.config.contract import paths_in
from pipeline.errors import KinoflowError
from pipeline.store.undeclared import declared_only


class Inner(Strict):
    table: Path
    name: str = "not/a/path"


class Options(Strict):
    inner: Inner
    more: tuple[Path, ...] = ()
    folder: Path | None = None


def test_paths_among_options_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/2.csv", "b/1.csv"):
        (tmp_path / name).touch()
    options = Options(inner=Inner(table=Path("t.csv")), more=(Path("x"), Path("y")), folder=tmp_path / "b")
    found = [str(path) for path in paths_in(options)]
    assert found == ["t.csv", "x", "y", str(tmp_path / "b/1.csv"), str(tmp_path / "b/2.csv")]


def test_reading_an_undeclared_file_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("1")
    message = r"secret.csv: read by data set mine, which does not declare it.*Path"
    with pytest.raises(KinoflowError, match=message), declared_only("data set mine", [], []):
        secret.read_text()


def test_declared_files_cached_ones_and_written_ones_are_fine(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    for name in ("mine.csv", "cache/fetched.csv"):
        (tmp_path / name).write_text("1")
    with declared_only("data set mine", [tmp_path / "mine.csv"], [tmp_path / "cache"]):
        (tmp_path / "mine.csv").read_text()
        (tmp_path / "cache/fetched.csv").read_text()
        (tmp_path / "written.csv").write_text("2")
        import json.tool  # noqa: F401  # the files of Python are not the plugin's


def test_what_is_read_later_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "later.csv").write_text("1")
    with declared_only("data set mine", [], []):
        pass
    assert (tmp_path / "later.csv").read_text() == "1"
