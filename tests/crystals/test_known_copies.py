"""Copies of known crystals besides the training set are found and named."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_crystals import caesium_chloride, overlapping, rock_salt, table

from pipeline.config import Fetching
from pipeline.crystals import known_copies
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.known_copies import KnownSet, copied_from, known_sets, with_listed
from pipeline.fetch.resource import FetchError, Resource
from pipeline.store.parquet import write_table
from pipeline.store.provenance import file_hash

FLAT = Crystal("flat", np.ones(3), np.array([10.0, 20.0, 150.0]), np.array([11]), np.zeros((1, 3)))


def listed(*crystals: Crystal | None, known: list[Crystal]) -> list[str]:
    return copied_from(crystals, known, workers=1, seconds=60)


def test_a_copy_has_the_id_of_the_first_known_crystal_that_is_the_same() -> None:
    known = [caesium_chloride("mp-1"), rock_salt("mp-2", length=4.1), rock_salt("mp-3")]
    assert listed(rock_salt(), None, rock_salt("again"), caesium_chloride(numbers=(11, 17)), known=known) == [
        "mp-2",
        "",
        "mp-2",
        "",
    ]


def test_a_crystal_that_cannot_be_compared_is_no_copy() -> None:
    assert listed(FLAT, rock_salt(), known=[rock_salt("mp-3"), FLAT]) == ["", "mp-3"]
    assert listed(rock_salt(), known=[]) == [""]


def test_the_relaxed_crystal_is_compared_if_it_has_an_energy() -> None:
    described = table(rock_salt("relaxed", length=2.0), rock_salt("failed"), overlapping("invalid"))
    after = table(rock_salt("relaxed"), caesium_chloride("failed", numbers=(11, 17)))
    after["energy_per_atom"] = [-3.0, math.nan]
    assessed = pd.DataFrame({"id": ["relaxed", "failed", "invalid"], "kind": ["relaxed", "failed", ""]})
    known = [KnownSet("some", [rock_salt("mp-3")]), KnownSet("others", [overlapping("mp-4")])]
    found = with_listed(assessed, described, after, known, workers=1, seconds=60)
    assert found["listed_as"].tolist() == ["mp-3", "mp-3", ""]
    assert "listed_as" not in with_listed(assessed, described, after, [], workers=1, seconds=60)


@pytest.fixture
def mirrored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fetching:
    """Return where data come from: a mirror with one of two sets of known crystals."""
    (tmp_path / "mirror").mkdir()
    write_table(tmp_path / "mirror" / "here.parquet", table(rock_salt("mp-3")))
    digest = file_hash(tmp_path / "mirror" / "here.parquet")
    nowhere = ("https://nowhere.invalid/file.parquet",)
    here = Resource("here", "here.parquet", digest, "a test", addresses=nowhere, mirror=("here.parquet",))
    away = Resource("away", "away.parquet", "0" * 64, "a test", addresses=nowhere)
    monkeypatch.setattr(known_copies, "SETS", ("here", "away"))
    monkeypatch.setattr("pipeline.fetch.fetching.CATALOGUE", {one.key: one for one in (here, away)})
    return Fetching(cache=str(tmp_path / "cache"), mirror=str(tmp_path / "mirror"))


def test_what_is_at_hand_is_known_and_nothing_is_downloaded(mirrored: Fetching, tmp_path: Path) -> None:
    rows = table(rock_salt("train"), rock_salt("test"), caesium_chloride("val")).assign(split=["train", "test", "val"])
    write_table(tmp_path / "rows.parquet", rows)
    found = known_sets(mirrored, tmp_path / "rows.parquet", None)
    assert [(one.name, [crystal.id for crystal in one.crystals]) for one in found] == [
        (f"{tmp_path / 'rows.parquet'} outside of training", ["test", "val"]),
        ("here", ["mp-3"]),
    ]


def test_the_user_may_name_sets_and_files(mirrored: Fetching, tmp_path: Path) -> None:
    write_table(tmp_path / "mine.parquet", table(caesium_chloride("mine")))
    found = known_sets(mirrored, None, ["here", str(tmp_path / "mine.parquet")])
    assert [one.crystals[0].id for one in found] == ["mp-3", "mine"]
    assert known_sets(mirrored, None, ()) == []
    with pytest.raises(FetchError, match="unknown resource 'nothing'"):
        known_sets(mirrored, None, ["nothing"])
