"""Whether a predicted structure is the real one."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_crystals import caesium_chloride, overlapping, rock_salt

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.prediction import frame_of_predictions
from pipeline.crystals.prediction_matching import COLUMNS, match, match_predictions
from pipeline.crystals.tokens import Decoded
from pipeline.store.journal import Journal

SIDE = 4.12
FLAT = np.array([20.0, 60.0, 120.0])


def moved(by: float) -> Crystal:
    """Return caesium chloride with its chlorine moved along x, by a share of the side."""
    known = caesium_chloride()
    return replace(known, fractions=known.fractions + np.array([[0, 0, 0], [by, 0, 0]]))


def test_the_distance_is_in_units_of_the_cube_root_of_the_volume_per_atom() -> None:
    found = match((moved(0.04), caesium_chloride()))
    displacement = 0.04 * SIDE / 2  # of each of both atoms, once their centres coincide
    assert found.distance == pytest.approx(displacement / (SIDE**3 / 2) ** (1 / 3), rel=1e-6)
    assert found.valid
    assert found.both_valid


def test_the_tolerances_are_wide() -> None:
    assert (
        match((moved(0.2), caesium_chloride())).distance > 0.1
    )  # pymatgen's own tolerances would refuse some of these
    assert match((caesium_chloride(length=9.0), caesium_chloride())).distance == pytest.approx(0, abs=1e-9)
    assert math.isnan(match((rock_salt(numbers=(55, 17)), caesium_chloride())).distance)


def test_a_match_that_is_not_valid_is_a_match_all_the_same() -> None:
    alike = overlapping()
    assert match((alike, alike))[1:] == (False, False)
    odd = caesium_chloride(numbers=(56, 9))  # BaF cannot be neutral
    assert match((odd, odd)).distance == pytest.approx(0, abs=1e-9)
    assert match((odd, odd))[1:] == (False, False)


def matched(drawn: list[Decoded], **options: Journal) -> pd.DataFrame:
    targets = [caesium_chloride("a"), caesium_chloride("b"), rock_salt("c")]
    frame = frame_of_predictions(drawn, targets, 2)
    return match_predictions(frame, targets, workers=1, seconds=60, **options)


def test_every_prediction_has_a_row_and_those_without_an_answer_a_reason(tmp_path: Path) -> None:
    broken = replace(caesium_chloride(), angles=FLAT)
    drawn = [Decoded(moved(0.04), ""), Decoded(None, "no atoms"), Decoded(broken, ""), Decoded(caesium_chloride(), "")]
    every = matched(drawn, finished=Journal(tmp_path, "work"))
    assert list(every.columns) == list(COLUMNS)
    found = every[every["own"]]
    assert found[["target", "sample"]].to_numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert np.isfinite(found["distance"]).tolist() == [True, False, False, True]
    assert [reason[:8] for reason in found["reason"]] == ["", "no atoms", "failed: ", ""]
    assert found["valid"].tolist() == [True, False, False, True]


def test_a_prediction_is_also_compared_with_the_other_targets_of_its_reduced_composition() -> None:
    found = matched([Decoded(moved(0.04), ""), Decoded(None, "no atoms")] + [Decoded(caesium_chloride(), "")] * 2)
    others = found[~found["own"]]
    assert others[["target", "sample"]].to_numpy().tolist() == [[1, 0], [1, 1], [0, 0], [0, 1]]  # never rock salt
    assert np.isfinite(others["distance"]).tolist() == [True, False, True, True]


def test_pairs_in_the_journal_are_not_matched_again(tmp_path: Path) -> None:
    finished = Journal(tmp_path, "work")
    finished.add("matching 0", [[0.25, True, False], ""])
    found = matched([Decoded(moved(0.04), "")] * 4, finished=finished)
    assert found["distance"].iloc[0] == 0.25
    assert found["distance"].iloc[1] == pytest.approx(0.02 * 2 ** (1 / 3), rel=1e-6)
    assert found["both_valid"].tolist() == [False] + [True] * 7
    again = matched([Decoded(moved(0.04), "")] * 4, finished=Journal(tmp_path, "work"))
    pd.testing.assert_frame_equal(again, found)
