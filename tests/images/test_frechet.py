"""The Fréchet distance: closed forms, batches, few images, and how honest its error is."""

import math
from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.images.frechet import Statistics, frechet_distance, frechet_error, statistics_of


def drawn(n: int, width: int, seed: int) -> Tensor:
    """Return features [n, width] that are correlated, and not around zero."""
    generator = torch.Generator().manual_seed(seed)
    mixing = torch.randn(width, width, generator=generator, dtype=torch.float64)
    shift = torch.randn(width, generator=generator, dtype=torch.float64)
    return torch.randn(n, width, generator=generator, dtype=torch.float64) @ mixing + shift


def by_square_root(first: Tensor, second: Tensor) -> float:
    """Return the distance by the formula, with scipy's square root of a matrix."""
    means, covariances = zip(
        *((features.numpy().mean(0), np.cov(features.numpy().T)) for features in (first, second)), strict=True
    )
    root = linalg.sqrtm(covariances[0] @ covariances[1]).real
    return float(((means[0] - means[1]) ** 2).sum() + np.trace(covariances[0] + covariances[1] - 2 * root))


@given(width=st.integers(2, 12), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_the_distance_is_that_of_the_formula(width: int, seed: int) -> None:
    first, second = drawn(300, width, seed), drawn(200, width, seed + 1)
    distance = frechet_distance(Statistics.of(first), Statistics.of(second))
    assert distance == pytest.approx(by_square_root(first, second), rel=1e-6)
    assert frechet_distance(Statistics.of(second), Statistics.of(first)) == pytest.approx(distance, rel=1e-9)


def test_the_distance_of_a_set_from_itself_is_zero_and_from_a_shifted_copy_the_square_of_the_shift() -> None:
    features, shift = drawn(100, 6, 0), torch.arange(6.0)
    statistics = Statistics.of(features)
    assert frechet_distance(statistics, statistics) == pytest.approx(0.0, abs=1e-9)
    moved = frechet_distance(statistics, Statistics.of(features + shift))
    assert moved == pytest.approx(float(shift.square().sum()), rel=1e-9)


def test_in_one_dimension_it_is_the_difference_of_means_and_of_deviations() -> None:
    first, second = (
        Statistics(11, torch.tensor([mean]), torch.tensor([[10 * sd**2]])) for mean, sd in ((1, 2), (4, 6))
    )
    assert frechet_distance(first, second) == pytest.approx(3**2 + 4**2)


@pytest.mark.parametrize("images", [2, 5, 20])
def test_with_fewer_images_than_features_it_is_still_that_of_the_formula(images: int) -> None:
    first, second = drawn(images, 30, 0), drawn(500, 30, 1)
    distance = frechet_distance(Statistics.of(first), Statistics.of(second))
    assert distance == pytest.approx(by_square_root(first, second), rel=1e-5)
    assert frechet_distance(Statistics.of(first), Statistics.of(first)) == pytest.approx(0.0, abs=1e-9)


def test_images_that_are_all_the_same_have_a_distance() -> None:
    reference = Statistics.of(drawn(500, 4, 0))
    collapsed = Statistics.of(reference.mean.expand(10, 4))
    assert frechet_distance(collapsed, reference) == pytest.approx(float(reference.covariance.trace()))


def test_statistics_do_not_depend_on_the_batches_even_far_from_zero() -> None:
    features = drawn(101, 5, 0) + 1e6
    whole, parts = Statistics.of(features), statistics_of(features.split(7))
    assert parts.n == whole.n == 101
    assert torch.allclose(parts.mean, whole.mean, rtol=1e-12)
    assert torch.allclose(parts.covariance, torch.from_numpy(np.cov(features.numpy().T)), rtol=1e-8)
    ends = statistics_of(features[:30].split(10)).merged(statistics_of(features[30:].split(10)))
    assert torch.allclose(ends.scatter, whole.scatter, rtol=1e-8)


def test_one_image_or_other_features_are_an_error() -> None:
    one, two = Statistics.of(drawn(1, 3, 0)), Statistics.of(drawn(2, 3, 0))
    with pytest.raises(KinoflowError, match="n = 1: a covariance needs two images"):
        frechet_distance(one, two)
    with pytest.raises(KinoflowError, match="3 and 4 features cannot be compared"):
        frechet_distance(two, Statistics.of(drawn(2, 4, 0)))


def test_the_error_is_about_the_spread_of_the_distance_over_sets_of_samples() -> None:
    generator = torch.Generator().manual_seed(0)
    reference = Statistics.of(torch.randn(5000, 8, generator=generator))
    distances, errors = [], []
    for _ in range(60):
        parts = [Statistics.of(part) for part in (0.3 + torch.randn(300, 8, generator=generator)).tensor_split(10)]
        distances.append(frechet_distance(reduce(Statistics.merged, parts), reference))
        errors.append(frechet_error(parts, reference))
    spread, error = float(np.std(distances)), math.sqrt(float(np.mean(np.square(errors))))
    assert 0.75 * spread < error < 1.35 * spread
