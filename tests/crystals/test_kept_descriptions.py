"""Descriptions of data sets are computed once, and never served for another crystal or by other code."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from crystal_config import crystal_config
from small_crystals import caesium_chloride, crystal, rock_salt, table

from pipeline.crystals import describe as describing
from pipeline.crystals import kept_descriptions as module
from pipeline.crystals import workers
from pipeline.crystals.describe import describe_rows
from pipeline.crystals.kept_descriptions import KeptDescriptions
from pipeline.stages.describe import describe as describe_stage
from pipeline.stages.job import Job
from pipeline.store.parquet import write_table

HELIUM = crystal("helium", 4, {(0, 0, 0): 2, (0.5, 0.5, 0.5): 8})  # its fingerprint has missing entries
NO_CELL = crystal("no such cell", 4, {(0, 0, 0): 11, (0.5, 0.5, 0.5): 17}, angles=[10, 20, 150])


@pytest.fixture(autouse=True)
def without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run tasks in this process."""

    def run(function: Any, items: list[Any], **settings: Any) -> Any:
        for place, item in enumerate(items):
            try:
                yield place, workers.Outcome(function(item), "")
            except ValueError as error:
                yield place, workers.Outcome(None, str(error))

    monkeypatch.setattr(describing, "run_tasks", run)


def described(cache: Path, frame: pd.DataFrame) -> tuple[int, pd.DataFrame]:
    """Return how many rows had to be described, and the description of all."""
    kept = KeptDescriptions(cache)
    missing = kept.missing(frame)
    return len(missing), kept.complete(frame, describe_rows(missing, workers=1, seconds=60))


def test_what_was_described_before_is_not_described_again_and_is_the_same_to_the_last_byte(tmp_path: Path) -> None:
    frame = table(caesium_chloride(), rock_salt(), HELIUM, NO_CELL)
    first, again, plain = described(tmp_path, frame), described(tmp_path, frame), describe_rows(frame, 1, 60)
    assert (first[0], again[0]) == (4, 1)  # what has no fingerprint is tried again
    for name, one in (("first", first[1]), ("again", again[1]), ("plain", plain)):
        write_table(tmp_path / name, one)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes() == (tmp_path / "plain").read_bytes()


def test_a_larger_set_describes_only_what_is_new_to_it(tmp_path: Path) -> None:
    described(tmp_path, table(caesium_chloride()))
    moved = table(caesium_chloride(length=4.13), caesium_chloride("another name"), rock_salt())
    count, found = described(tmp_path, moved)
    assert count == 2
    pd.testing.assert_frame_equal(found, describe_rows(moved, 1, 60))
    assert described(tmp_path, moved)[0] == 0


def test_other_code_or_packages_describe_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(caesium_chloride())
    described(tmp_path, frame)
    with monkeypatch.context() as patch:
        patch.setattr(module, "code_hash", lambda *modules: "other code")
        assert described(tmp_path, frame)[0] == 1
    with monkeypatch.context() as patch:
        patch.setattr(module.importlib.metadata, "version", lambda name: "0.0")
        assert described(tmp_path, frame)[0] == 1
    assert described(tmp_path, frame)[0] == 0


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    both = [KeptDescriptions(tmp_path), KeptDescriptions(tmp_path)]
    for kept, frame in zip(both, (table(caesium_chloride()), table(rock_salt(), caesium_chloride())), strict=True):
        kept.complete(frame, describe_rows(kept.missing(frame), 1, 60))
    assert described(tmp_path, table(rock_salt(), caesium_chloride()))[0] == 0


def test_another_experiment_with_the_same_structures_takes_over_their_descriptions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table(caesium_chloride(), rock_salt()).assign(split="test")
    write_table(tmp_path / "rows", rows)
    job: Any = {"crystals": tmp_path / "rows", "split": "test", "journal": tmp_path / "journal"}
    config = crystal_config(cache=str(tmp_path / "cache"))
    describe_stage(Job(config, "crystals"), output=tmp_path / "first", **job)
    monkeypatch.setattr(describing, "all_of", lambda crystal: pytest.fail("described again"))
    describe_stage(Job(config, "crystals"), output=tmp_path / "second", **job)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
