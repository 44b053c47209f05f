"""Rates with their intervals."""

import pytest

from pipeline.scoring.intervals import rate


def test_wilson_intervals_have_their_known_values() -> None:
    assert rate("x", 10, 20) == pytest.approx({"x": 50.0, "x_low": 29.9298, "x_high": 70.0702}, abs=1e-4)
    assert rate("x", 0, 10) == pytest.approx({"x": 0.0, "x_low": 0.0000, "x_high": 27.7533}, abs=1e-4)
    assert rate("x", 10, 10) == pytest.approx({"x": 100.0, "x_low": 72.2467, "x_high": 100.0000}, abs=1e-4)


def test_a_rate_is_in_percent_and_of_nothing_there_is_none() -> None:
    assert rate("x", 1, 4)["x"] == 25
    assert rate("x", 1, 4)["x_low"] < 25 < rate("x", 1, 4)["x_high"]
    assert rate("x", 0, 0) == {}
