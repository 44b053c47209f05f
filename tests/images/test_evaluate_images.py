"""Anybody's pictures beside an experiment's images."""

from pathlib import Path

import pytest
import torch

from pipeline.errors import KinoflowError
from pipeline.images.evaluate import like


def test_grey_images_are_compared_with_grey_ones() -> None:
    grey = torch.randint(256, (3, 8, 8, 1), dtype=torch.uint8)
    assert torch.equal(like(grey.expand(-1, -1, -1, 3), (8, 8, 1), Path("folder")), grey)


def test_colours_are_left_as_they_are() -> None:
    pictures = torch.randint(256, (3, 8, 8, 3), dtype=torch.uint8)
    assert torch.equal(like(pictures, (8, 8, 3), Path("folder")), pictures)


def test_pictures_of_another_size_are_refused_with_both_sizes() -> None:
    pictures = torch.zeros(3, 16, 16, 3, dtype=torch.uint8)
    with pytest.raises(KinoflowError, match=r"folder: pictures of 16 x 16, the experiment's are 8 x 8; resize them"):
        like(pictures, (8, 8, 1), Path("folder"))
