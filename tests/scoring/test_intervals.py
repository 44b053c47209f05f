"""Rates and means with their intervals."""

import numpy as np
import pytest

from pipeline.scoring.intervals import mean, rate


def test_wilson_intervals_have_their_known_values() -> None:
    assert rate("x", 10, 20) == pytest.approx({"x": 50.0, "x_low": 29.9298, "x_high": 70.0702}, abs=1e-4)
    assert rate("x", 0, 10) == pytest.approx({"x": 0.0, "x_low": 0.0000, "x_high": 27.7533}, abs=1e-4)
    assert rate("x", 10, 10) == pytest.approx({"x": 100.0, "x_low": 72.2467, "x_high": 100.0000}, abs=1e-4)


def test_a_rate_is_in_percent_and_of_nothing_there_is_none() -> None:
    assert rate("x", 1, 4)["x"] == 25
    assert rate("x", 1, 4)["x_low"] < 25 < rate("x", 1, 4)["x_high"]
    assert rate("x", 0, 0) == {}


def test_the_interval_of_a_mean_is_that_of_the_normal_law_for_many_values() -> None:
    values = np.random.default_rng(0).normal(5, 2, size=2500).tolist()
    found, error = mean("x", values, seed=1), 2 / 50
    assert found["x"] == pytest.approx(np.mean(values))
    assert found["x"] - found["x_low"] == pytest.approx(1.96 * error, rel=0.1)
    assert found["x_high"] - found["x"] == pytest.approx(1.96 * error, rel=0.1)
    assert mean("x", values, seed=1) == found
    assert mean("x", [], seed=1) == {}


def test_a_single_value_has_no_interval() -> None:
    assert mean("x", [0.3], seed=1) == {"x": 0.3}
