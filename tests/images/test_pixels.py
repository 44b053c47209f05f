"""Images as tokens: the values of their pixels."""

import json
from pathlib import Path

import pytest
import torch
from small_images import CLASSES, LEVELS, SIDE, image_config, image_data

from pipeline.images.datasets import codes
from pipeline.images.datasets.pixels import Options, files, from_images, inputs, modules, vocabulary
from pipeline.images.imagedata import view
from pipeline.stages.job import Job
from pipeline.stages.prepare_images import prepare_images as prepare_images_stage
from pipeline.stages.prepare_pixels import prepare_pixels as prepare_pixels_stage
from pipeline.store.provenance import sidecar_of
from pipeline.tokens.token_data import TokenData

OPTIONS = Options.model_validate({"images": "digits"})


@pytest.mark.parametrize("channels", [1, 3])
def test_tokens_are_the_pixels_row_by_row_with_the_channels_of_each_side_by_side(channels: int) -> None:
    images = image_data(channels)
    data = from_images(OPTIONS, images)
    assert data.grid == (SIDE, SIDE, channels)
    assert data.length == SIDE * SIDE * channels
    place = (1 * SIDE + 2) * channels  # of the pixel in row 1, column 2
    assert torch.equal(data.test[:, place : place + channels], images.images["test"][:, 1, 2])
    assert torch.equal(data.validation.view(-1, *data.grid), images.images["validation"])


def test_all_views_of_training_images_are_there_each_with_its_class() -> None:
    images = image_data(augmentation="ten_crop", crop=2)
    data = from_images(OPTIONS, images)
    assert data.train.shape == (10 * 12, 4)
    assert data.test.shape == (7, 4)
    for number in range(10):
        part = slice(12 * number, 12 * (number + 1))
        seen = view(images.images["train"], 2, "ten_crop", number)
        assert torch.equal(data.train[part].view(-1, 2, 2, 1), seen)
        assert torch.equal(data.labels["train"][part], images.labels["train"])
    assert torch.equal(data.test.view(-1, 2, 2, 1), view(images.images["test"], 2, "none", 0))


def test_the_vocabulary_has_a_token_a_level_and_a_mask() -> None:
    assert vocabulary(OPTIONS).size == 17 + 1
    data = from_images(OPTIONS, image_data())
    assert (data.vocabulary.size, data.vocabulary.mask) == (LEVELS + 1, LEVELS)
    assert data.classes == CLASSES
    assert data.record["classes"] == ["cat", "dog", "cow"]


def test_codes_have_as_many_tokens_as_asked_for_and_a_mask() -> None:
    options = codes.Options.model_validate({"images": "digits", "codes": 9})
    assert (codes.vocabulary(options).size, codes.vocabulary(options).mask) == (10, 9)


def test_the_files_and_the_module_of_the_images_are_known_beforehand() -> None:
    assert files(OPTIONS) == ["digits/digits.csv.gz"]
    assert inputs(OPTIONS) == []
    assert modules(OPTIONS) == ["pipeline.images.sources.digits"]


def test_the_stages_write_images_and_their_tokens_with_provenance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pipeline.fetch.fetching import fetch_by_name

    fetch_by_name("digits", tmp_path / "cache", ("embedded",), None)
    config = image_config(tmp_path)
    config = config.model_copy(update={"data": config.data.model_copy(update={"cache": str(tmp_path / "cache")})})
    prepare_images_stage(Job(config, "pixels"), output=tmp_path / "images")
    assert "train: 60 images of 8 x 8 x 1" in capsys.readouterr().out
    prepare_pixels_stage(Job(config, "pixels"), images=tmp_path / "images", output=tmp_path / "tokens")
    data = TokenData.load(tmp_path / "tokens")
    assert (data.train.shape, data.grid, data.classes) == ((60, 64), (8, 8, 1), 10)
    assert data.origin["images"]["name"] == "digits"
    images, tokens = (json.loads(sidecar_of(tmp_path / name).read_text()) for name in ("images", "tokens"))
    assert list(images["inputs"]) == [str(tmp_path / "cache/digits/digits.csv.gz")]
    assert tokens["inputs"] == {str(tmp_path / "images"): images["sha256"]}
