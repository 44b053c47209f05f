"""A disk that is full or cannot be written to: one message that names the file, and nothing that is half-written."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from small_disk import fill, make_read_only, mounted

from pipeline.cli import main
from pipeline.store.atomic import replacing, write_text
from pipeline.store.journal import Journal
from pipeline.store.parquet import write_table
from pipeline.store.tensors import write_tensors
from pipeline.training.checkpoint import Checkpoints

BIG = torch.arange(1 << 17)  # a megabyte


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for half of it."""
    with mounted(tmp_path / "disk", "2m") as folder:
        fill(folder, leave=1 << 19)
        yield folder


def everything(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()} - {"ballast"}


def save_torch(path: Path) -> None:
    with replacing(path) as temporary:
        torch.save(BIG, temporary)


def write_half(path: Path, error: Exception) -> None:
    with replacing(path) as temporary:
        temporary.write_text("half")
        raise error


WRITERS: dict[str, Callable[[Path], Any]] = {
    "tensors": lambda path: write_tensors(path, "samples", {"tokens": BIG}, {}),
    "table": lambda path: write_table(path, pd.DataFrame({"x": torch.rand(1 << 18).numpy()})),
    "text": lambda path: write_text(path, "x" * (1 << 20)),
    "checkpoint": save_torch,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_is_an_error_about_the_file_and_leaves_nothing(disk: Path, writer: str) -> None:
    target = disk / "target"
    target.write_text("old")
    with pytest.raises(OSError) as failed:
        WRITERS[writer](target)
    assert (failed.value.errno, failed.value.filename) == (errno.ENOSPC, str(target))
    assert everything(disk) == {"target"}
    assert target.read_text() == "old"


def test_an_error_of_the_disk_without_a_name_gets_that_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError) as failed:
        write_half(tmp_path / "target", OSError(errno.ENOSPC, "No space left on device"))
    assert failed.value.filename == str(tmp_path / "target")
    assert not list(tmp_path.iterdir())


def test_other_errors_are_passed_on_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not the disk") as failed:
        write_half(tmp_path / "target", RuntimeError("not the disk"))
    assert failed.value.__cause__ is None


def test_training_keeps_its_last_good_checkpoint_on_a_full_disk(disk: Path) -> None:
    checkpoints = Checkpoints(disk / "checkpoints", "fingerprint")
    checkpoints.save(10, {"network": torch.ones(2)})
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(20, {"network": BIG})
    state = checkpoints.latest(100)
    assert state is not None
    assert state["step"] == 10
    assert everything(disk) == {"step-000000010.pt"}


def test_a_journal_goes_on_after_a_full_disk(disk: Path) -> None:
    journal = Journal(disk / "journal", "this")
    journal.add(0, "first")
    with pytest.raises(OSError) as failed:
        journal.add(1, "x" * (1 << 20))
    assert failed.value.filename == str(journal.path)
    (disk / "ballast").unlink()
    again = Journal(disk / "journal", "this")
    assert again.entries == {0: "first"}
    again.add(1, "second")
    assert Journal(disk / "journal", "this").entries == {0: "first", 1: "second"}


def test_a_stage_on_a_full_disk_says_which_file_and_that_running_again_goes_on(
    disk: Path, tiny_file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    large = {"experiments": {"checkerboard": {"data": {"train": 500_000}}}}
    target = disk / "tokens.safetensors"
    stage = ["prepare", "--config", str(tiny_file(large)), "--experiment", "checkerboard", "--output", str(target)]
    assert main(stage) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: {target}: No space left on device. Nothing half-written was left: free space")
    assert "run the same again" in shown
    assert everything(disk) == set()


def test_a_stage_on_a_read_only_disk_names_the_file_and_the_keys(
    disk: Path, tiny_file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    make_read_only(disk)
    target = disk / "results" / "tokens.safetensors"
    stage = ["prepare", "--config", str(tiny_file()), "--experiment", "checkerboard", "--output", str(target)]
    assert main(stage) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: {target}: Read-only file system")
    assert "`results` and `data.cache`" in shown
