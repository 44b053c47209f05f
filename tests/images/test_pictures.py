"""Pictures of samples: tokens as images again, and where they stand in grids."""

from pathlib import Path

import pytest
import small_tokenizer
import torch
from small_images import CLASSES, LEVELS, SIDE, image_config, image_data, token_data
from torch.nn import functional

from pipeline.errors import KinoflowError
from pipeline.images import decoding, grids
from pipeline.images.decoding import Decoder
from pipeline.images.encoding import encoded
from pipeline.images.evaluate import read_pictures
from pipeline.images.grids import first_rows, shown_grid
from pipeline.images.imagedata import ImageData, to_bytes
from pipeline.images.pictures import Pictures
from pipeline.images.tokenizer import SavedTokenizer, reconstruct
from pipeline.images.tokenizer_table import live_codes
from pipeline.sampling.samples import SampleSet
from pipeline.stages.job import Job
from pipeline.stages.pictures import pictures as pictures_stage
from pipeline.stages.reference import reference as reference_stage
from pipeline.tokens.token_data import TokenData

DATA = token_data()


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    codebook = functional.normalize(torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), dim=-1)
    small_tokenizer.tokenizer(codebook, small_tokenizer.stripes()).save(tmp_path / "tokenizer")
    return tmp_path / "tokenizer"


@pytest.fixture
def codes(tokenizer: Path, tmp_path: Path) -> TokenData:
    return encoded(SavedTokenizer.load(tokenizer), small_tokenizer.stripes(), {"name": "codes"}, tmp_path)


def test_pixels_come_back_from_tokens_with_their_levels_spread_over_bytes() -> None:
    pictures = Decoder.of(DATA, None).pictures(DATA.test.long())
    assert torch.equal(pictures, to_bytes(image_data().images["test"], LEVELS))
    assert set(pictures.unique().tolist()) == {0, 64, 128, 191, 255}


def test_a_mask_is_shown_as_the_brightest_level() -> None:
    pictures = Decoder.of(DATA, None).pictures(torch.full((2, DATA.length), DATA.vocabulary.mask))
    assert pictures.shape == (2, SIDE, SIDE, 1)
    assert pictures.unique().tolist() == [255]


def test_codes_become_what_their_tokenizer_makes_of_them(
    tokenizer: Path, codes: TokenData, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, saved = small_tokenizer.stripes(), SavedTokenizer.load(tokenizer)
    expected = to_bytes(reconstruct(saved, data.images["test"], live_codes(codes)), data.levels)
    assert torch.equal(Decoder.of(codes, tokenizer).pictures(codes.test.long()), expected)
    monkeypatch.setattr(decoding, "_AT_ONCE", 4)
    assert torch.equal(Decoder.of(codes, tokenizer).pictures(codes.test.long()), expected)


def test_a_tokenizer_too_much_or_too_little_is_an_error_that_names_the_flag(tokenizer: Path, codes: TokenData) -> None:
    with pytest.raises(KinoflowError, match="data 'pixels': leave --tokenizer out"):
        Decoder.of(DATA, tokenizer)
    with pytest.raises(KinoflowError, match="data 'codes': give the tokenizer's weights with --tokenizer"):
        Decoder.of(codes, None)
    words = TokenData(*([DATA.train] * 3), DATA.vocabulary, {"name": "text"})
    with pytest.raises(KinoflowError, match="data 'text': these are no images"):
        Decoder.of(words, None)


def test_columns_of_a_grid_are_classes() -> None:
    labels = torch.tensor([2, 0, 1, 1, 0, 2, 0])
    assert first_rows(7, labels, 3, rows=8).tolist() == [[1, 2, 0], [4, 3, 5]]
    assert first_rows(7, labels, 3, rows=1).tolist() == [[1, 2, 0]]
    assert first_rows(7, labels, 2, rows=8).tolist() == [[1, 2], [4, 3]]


def test_without_classes_or_with_one_missing_the_first_pictures_are_shown() -> None:
    assert first_rows(7, None, 3, rows=8).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert first_rows(2, None, 3, rows=8).tolist() == [[0, 1]]
    assert first_rows(7, torch.tensor([0, 0, 2, 2, 0, 2, 0]), 3, rows=1).tolist() == [[0, 1, 2]]


def test_a_grid_shows_each_picture_in_the_column_of_its_class() -> None:
    labels = torch.tensor([2, 0, 1, 1, 0, 2])
    images = (labels * 100).to(torch.uint8)[:, None, None, None].expand(-1, SIDE, SIDE, 1)
    grid = shown_grid(images, labels, CLASSES)
    side = grids.SIDE  # pictures are enlarged to this
    gap = side // SIDE
    assert grid.shape == (2 * side + gap, 3 * side + 2 * gap, 3)
    for column in range(3):
        left = column * (side + gap)
        assert set(grid[:side, left : left + side].flatten().tolist()) == {100 * column}
        assert set(grid[side + gap :, left : left + side].flatten().tolist()) == {100 * column}


def test_the_stage_writes_pictures_with_their_classes_and_a_grid(tmp_path: Path) -> None:
    DATA.save(tmp_path / "tokens")
    labels = torch.arange(7) % CLASSES
    SampleSet(DATA.test.long(), {"run": "metric", "seed": 0}, labels=labels).save(tmp_path / "samples")
    make(tmp_path)
    pictures = Pictures.load(tmp_path / "pictures")
    assert torch.equal(pictures.images, to_bytes(image_data().images["test"], LEVELS))
    assert pictures.labels is not None
    assert pictures.labels.tolist() == labels.tolist()
    assert pictures.conditions == {"run": "metric", "seed": 0}
    expected = shown_grid(pictures.images, labels, CLASSES)
    assert torch.equal(read_pictures(tmp_path)[0], torch.from_numpy(expected))


@pytest.mark.parametrize("crop", [SIDE, 2])
def test_the_reference_of_images_is_made_of_the_bytes_of_the_test_images(crop: int, tmp_path: Path) -> None:
    DATA.save(tmp_path / "tokens")
    images = image_data(crop=crop)
    images.save(tmp_path / "images")
    config = image_config(tmp_path, sampling={"count": 5})
    reference_stage(Job(config, "pixels"), reference="images", tokens=tmp_path / "tokens", output=tmp_path / "samples")
    make(tmp_path, images=tmp_path / "images")
    pictures, far = Pictures.load(tmp_path / "pictures"), (SIDE - crop) // 2
    shown = ImageData.load(tmp_path / "images").images["test"][:5, far : far + crop, far : far + crop]
    assert torch.equal(pictures.images, to_bytes(shown, LEVELS))
    assert pictures.labels is not None
    assert pictures.labels.tolist() == [0, 1, 2, 0, 1]
    assert pictures.conditions["n"] == 5


def test_the_reference_of_images_needs_the_images(tmp_path: Path) -> None:
    DATA.save(tmp_path / "tokens")
    files = {"tokens": tmp_path / "tokens", "output": tmp_path / "samples"}
    reference_stage(Job(image_config(tmp_path), "pixels"), reference="images", **files)
    with pytest.raises(KinoflowError, match="shows prepared images; give them with --images"):
        make(tmp_path)


def make(folder: Path, images: Path | None = None) -> None:
    files = {name: folder / name for name in ("samples", "tokens")}
    written = {"output": folder / "pictures", "grid": folder / "grid.png"}
    pictures_stage(Job(image_config(folder), "pixels"), images=images, **files, **written)
