"""Precision, recall, density and coverage of sets whose balls can be counted by hand."""

import pytest
import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.images import neighbours
from pipeline.images.neighbours import neighbour_scores, radii


def on_a_line(*places: float) -> Tensor:
    return torch.tensor(places)[:, None]


def cloud(n: int, seed: int, width: int = 4) -> Tensor:
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed))


def test_radii_reach_to_the_neighbour_that_was_asked_for() -> None:
    places = on_a_line(0, 1, 3, 7).double()
    assert radii(places, 1).tolist() == [1, 1, 4, 16]
    assert radii(places, 3).tolist() == [49, 36, 16, 49]


def test_a_set_compared_with_itself_is_precise_and_complete() -> None:
    scores = neighbour_scores(cloud(50, 0), cloud(50, 0), 5)
    # Each ball holds its own image and five others.
    assert scores == pytest.approx({"precision": 1, "recall": 1, "density": 6 / 5, "coverage": 1})


def test_sets_that_are_far_apart_have_nothing_in_common() -> None:
    scores = neighbour_scores(cloud(30, 0), cloud(40, 1) + 100, 3)
    assert scores == {"precision": 0, "recall": 0, "density": 0, "coverage": 0}


def test_the_scores_are_those_counted_by_hand() -> None:
    # Balls of the real images reach to the nearest one: [-1, 1], [0, 2], [1, 5], [8, 12], [10, 14].
    real, generated = on_a_line(0, 1, 3, 10, 12), on_a_line(0.5, 1.5, 20)
    scores = neighbour_scores(real, generated, 1)
    # 0.5 is in the balls of 0 and 1, 1.5 in those of 1 and 3, 20 in none.
    assert scores["precision"] == pytest.approx(2 / 3)
    assert scores["density"] == pytest.approx((2 + 2 + 0) / 3)
    assert scores["coverage"] == pytest.approx(3 / 5)
    # Balls of the generated ones: [-0.5, 1.5], [0.5, 2.5], [1.5, 38.5].
    assert scores["recall"] == pytest.approx(1.0)


def test_one_image_drawn_again_and_again_is_precise_but_neither_varied_nor_covering() -> None:
    real = cloud(100, 0)
    scores = neighbour_scores(real, real[:1].expand(60, 4), 3)
    assert scores["precision"] == 1
    assert scores["recall"] == pytest.approx(1 / 100)  # itself
    assert scores["coverage"] < 0.2


def test_rounding_does_not_decide_whether_images_that_repeat_are_the_same() -> None:
    real = (10_000 + torch.arange(1, 301) * cloud(40, 0, width=300)).repeat(3, 1)  # a ball holds copies only: no size
    generated = real[torch.randperm(120, generator=torch.Generator().manual_seed(1))[:111]]
    scores = neighbour_scores(real, generated, 2)
    assert scores == {"precision": 1, "recall": 1, "density": 3 / 2, "coverage": 1}


def test_an_outlier_among_real_images_raises_precision_but_hardly_density() -> None:
    real = torch.cat([cloud(200, 0), torch.full((1, 4), 30.0)])
    generated = torch.full((100, 4), 15.0) + cloud(100, 1)
    scores = neighbour_scores(real, generated, 5)
    assert scores["precision"] > 0.5
    assert scores["density"] < 0.3


def test_the_scores_do_not_depend_on_how_many_distances_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    real, generated = cloud(83, 0), 1.2 * cloud(61, 1)
    whole = neighbour_scores(real, generated, 5)
    monkeypatch.setattr(neighbours, "_AT_ONCE", 200)
    assert neighbour_scores(real, generated, 5) == whole


@pytest.mark.parametrize("real, generated, which", [(5, 9, "5 reference"), (9, 5, "5 generated")])
def test_too_few_images_for_the_neighbours_are_an_error_that_says_so(real: int, generated: int, which: str) -> None:
    with pytest.raises(KinoflowError, match=f"neighbours = 5: there are only {which} images; draw more"):
        neighbour_scores(cloud(real, 0), cloud(generated, 1), 5)
