"""The description of structures, one by one."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crystal_config import crystal_config
from small_crystals import caesium_chloride, crystal, overlapping, rock_salt, table

from pipeline.crystals import describe as module
from pipeline.crystals import workers
from pipeline.crystals.describe import COMPOSITION, NOTHING, STRUCTURAL, describe_rows
from pipeline.crystals.table import rejected_row, row_of
from pipeline.crystals.workers import Outcome
from pipeline.errors import KinoflowError
from pipeline.stages.describe import describe as describe_stage
from pipeline.stages.job import Job
from pipeline.store.journal import Journal
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import sidecar_of

NO_CELL = crystal("no such cell", 4, {(0, 0, 0): 11, (0.5, 0.5, 0.5): 17}, angles=[10, 20, 150])


@pytest.fixture(scope="module")
def described() -> pd.DataFrame:
    helium = crystal("helium", 4, {(0, 0, 0): 2, (0.5, 0.5, 0.5): 8})
    not_decoded = rejected_row("rejected", "no atoms")
    known = row_of(rock_salt("known composition")) | {"reason": "too many atoms"}
    huge = caesium_chloride("huge", length=900)
    frame = table(caesium_chloride(), not_decoded, overlapping(), helium, NO_CELL, known, huge)
    return describe_rows(frame.set_index(frame.index + 7), workers=1, seconds=60).set_index("id")


def test_a_good_structure_has_all_columns_and_no_reason(described: pd.DataFrame) -> None:
    row = described.loc["CsCl"]
    assert (row["reason"], row["fingerprint_reason"]) == ("", "")
    assert (row["atoms"], row["elements"]) == (2, 2)
    assert row["density"] == pytest.approx((132.905 + 35.453) * 1.66054 / 4.12**3, rel=1e-3)
    assert all(row[name] for name in (*STRUCTURAL, *COMPOSITION))
    assert row["space_group"] == 221
    assert (len(row["composition_fingerprint"]), len(row["structure_fingerprint"])) == (132, 61)


def test_a_row_with_a_reason_has_nothing_but_it(described: pd.DataFrame) -> None:
    row = described.loc["rejected"]
    assert (row["reason"], row["fingerprint_reason"]) == ("no atoms", "no atoms")
    assert math.isnan(row["density"])
    assert not any(row[name] for name in (*STRUCTURAL, *COMPOSITION))
    assert row["space_group"] == 0
    assert (row["atoms"], len(row["composition_fingerprint"]), len(row["structure_fingerprint"])) == (0, 0, 0)


def test_a_composition_counts_even_if_the_structure_has_a_reason(described: pd.DataFrame) -> None:
    for id in ("known composition", "no such cell"):
        row = described.loc[id]
        assert row["composition_valid"]
        assert not row["structural_valid"]
        assert row["fingerprint_reason"] == row["reason"] != ""
        assert not len(row["structure_fingerprint"])


def test_a_huge_cell_is_described_like_any_other(described: pd.DataFrame) -> None:
    row = described.loc["huge"]
    assert (row["reason"], row["atoms"], row["elements"]) == ("", 2, 2)
    assert row["composition_valid"]
    assert row["structural_valid"]
    assert 0 < row["density"] < 1e-6


def test_an_element_without_data_has_a_fingerprint_with_missing_entries(described: pd.DataFrame) -> None:
    row = described.loc["helium"]
    assert (row["reason"], row["fingerprint_reason"], row["structural_valid"], row["elements"]) == ("", "", True, 2)
    assert np.isnan(row["composition_fingerprint"]).sum() == 12
    assert np.isfinite(row["structure_fingerprint"]).all()


def test_overlapping_atoms_are_described_as_not_valid(described: pd.DataFrame) -> None:
    row = described.loc["overlap"]
    assert not row["structural_valid"]
    assert row["density"] > 0
    assert bool(row["fingerprint_reason"]) == (not len(row["structure_fingerprint"]))


def test_a_fingerprint_over_its_time_costs_no_other_column(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_late_fingerprints(function: Any, items: list[Any], **settings: Any) -> Any:
        if settings["label"] == "validity":
            return ((place, Outcome(function(item), "")) for place, item in enumerate(items))
        return iter([(0, Outcome(None, "time limit (60 s)"))])

    monkeypatch.setattr(module, "run_tasks", with_late_fingerprints)
    row = describe_rows(table(caesium_chloride()), workers=1, seconds=60).iloc[0]
    assert row["fingerprint_reason"] == "time limit (60 s)"
    assert (row["reason"], row["structural_valid"], row["elements"]) == ("", True, 2)


def test_no_structures_give_an_empty_frame_of_the_same_columns(described: pd.DataFrame) -> None:
    empty = describe_rows(table(), workers=1, seconds=60)
    assert len(empty) == 0
    assert list(empty.columns) == ["id", *described.columns]
    assert set(NOTHING) <= set(empty.columns)


def test_the_stage_takes_the_usable_rows_of_a_split(tmp_path: Path) -> None:
    rows = table(caesium_chloride(), rock_salt(), rejected_row("bad", "too many atoms"))
    write_table(tmp_path / "rows.parquet", rows.assign(split=["train", "test", "test"]))
    output = tmp_path / "described" / "test.parquet"
    config = crystal_config(cache=str(tmp_path / "cache"))
    describe_stage(Job(config, "crystals"), crystals=tmp_path / "rows.parquet", split="test", output=output)
    written = read_table(output)
    assert list(written["id"]) == ["NaCl"]
    assert np.asarray(written["structure_fingerprint"][0]).shape == (61,)
    assert json.loads(sidecar_of(output).read_text())["settings"]["split"] == "test"
    with pytest.raises(KinoflowError, match="no usable structure in the split 'validation'"):
        describe_stage(Job(config, "crystals"), crystals=tmp_path / "rows.parquet", split="validation", output=output)


def test_a_description_that_was_stopped_goes_on_with_the_next_crystal_and_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(tmp_path / "crystals", table(caesium_chloride(), overlapping(), rock_salt("NaCl")))
    files: Any = {"crystals": tmp_path / "crystals", "split": None, "journal": tmp_path / "journal"}
    kept = Journal.add

    def stopping(journal: Journal, key: int | str, value: Any) -> None:
        kept(journal, key, value)
        if len(journal.entries) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "add", stopping)
        with pytest.raises(KeyboardInterrupt):
            describe_stage(Job(crystal_config(), "crystals"), output=tmp_path / "stopped", **files)
    given = list[int]()
    with monkeypatch.context() as patch:
        tries = workers._try_tasks
        patch.setattr(workers, "_try_tasks", lambda *few, **more: given.append(len(few[2])) or tries(*few, **more))
        describe_stage(Job(crystal_config(), "crystals"), output=tmp_path / "stopped", **files)
    assert given == [1, 0]  # two had been described, and all three could be
    assert not (tmp_path / "journal").exists()
    describe_stage(Job(crystal_config(), "crystals"), output=tmp_path / "whole", **files)
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "whole").read_bytes()
