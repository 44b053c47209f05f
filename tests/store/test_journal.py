"""The journal: what was added is there again, whatever happened in between."""

import math
from pathlib import Path

import pytest

from pipeline.store.journal import Journal


def written(folder: Path) -> Path:
    journal = Journal(folder, "this")
    journal.add(2, {"energy": 0.1 + 0.2})
    journal.add(0, {"energy": math.nan})
    return journal.path


def test_values_are_there_again_to_the_last_digit(tmp_path: Path) -> None:
    written(tmp_path / "journal")
    entries = Journal(tmp_path / "journal", "this").entries
    assert sorted(entries) == [0, 2]
    assert entries[2] == {"energy": 0.1 + 0.2}
    assert math.isnan(entries[0]["energy"])


def test_values_made_from_something_else_are_thrown_away(tmp_path: Path) -> None:
    written(tmp_path)
    assert Journal(tmp_path, "that").entries == {}
    assert Journal(tmp_path, "this").entries == {}


@pytest.mark.parametrize("kept", [0, 5])
def test_a_torn_first_line_starts_anew(tmp_path: Path, kept: int) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    journal = Journal(tmp_path, "this")
    assert journal.entries == {}
    journal.add(1, "one")
    assert Journal(tmp_path, "this").entries == {1: "one"}


@pytest.mark.parametrize("torn", [b'[1, {"ener', b"\x00\x00\x00\n"])
def test_a_torn_last_line_is_ignored_and_does_not_spoil_the_next(tmp_path: Path, torn: bytes) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes() + torn)
    Journal(tmp_path, "this").add(3, "three")
    assert Journal(tmp_path, "this").entries.keys() == {0, 2, 3}


def test_removing_it_leaves_the_folder_only_if_something_else_is_in_it(tmp_path: Path) -> None:
    written(tmp_path / "a")
    Journal(tmp_path / "a", "this").remove()
    assert not (tmp_path / "a").exists()
    written(tmp_path / "b")
    (tmp_path / "b" / "other").touch()
    Journal(tmp_path / "b", "this").remove()
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["other"]


def test_a_line_that_was_edited_does_not_count_and_the_others_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(tmp_path, "this")
    for key in range(3):
        journal.add(key, {"energy": 0.125 + key})
    journal.path.write_text(journal.path.read_text().replace("1.125", "1.126"))
    again = Journal(tmp_path, "this")
    assert again.entries == {0: {"energy": 0.125}, 2: {"energy": 2.125}}
    assert f"{again.path}: line 3 is damaged; what it held is done again" in capsys.readouterr().err
    assert again.once(1, lambda: {"energy": 1.125}) == {"energy": 1.125}
    assert Journal(tmp_path, "this").entries.keys() == {0, 1, 2}


def test_a_first_line_that_is_there_twice_is_no_entry(tmp_path: Path) -> None:
    path = written(tmp_path)
    first = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(first + path.read_bytes())
    assert Journal(tmp_path, "this").entries.keys() == {0, 2}
