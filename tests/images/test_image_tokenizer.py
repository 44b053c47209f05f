"""Saved tokenizers, and the codes of images that become tokens."""

from pathlib import Path

import pytest
import torch
from small_tokenizer import config, stripes, tokenizer
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.images.encoding import encoded, first_of_equals, perplexity
from pipeline.images.tokenizer import SavedTokenizer, reconstruct
from pipeline.images.tokenizer_table import live_codes, psnr, tokenizer_report
from pipeline.stages.encode import encode as encode_stage
from pipeline.stages.job import Job
from pipeline.tokens.token_data import TokenData


def codebook(codes: int) -> Tensor:
    vectors = torch.randn(codes, 4, generator=torch.Generator().manual_seed(1))
    return torch.nn.functional.normalize(vectors, dim=-1)


def tokens(codes: Tensor, folder: Path, **images: object) -> TokenData:
    data = stripes(**images)  # type: ignore[arg-type]
    return encoded(tokenizer(codes, data), data, {"name": "codes"}, folder)


def test_a_saved_tokenizer_gives_the_same_codes_and_images(tmp_path: Path) -> None:
    data = stripes()
    made = tokenizer(codebook(6), data)
    made.save(tmp_path / "weights")
    loaded = SavedTokenizer.load(tmp_path / "weights")
    images = data.images["test"]
    assert torch.equal(loaded.encode(images), made.encode(images))
    assert torch.equal(reconstruct(loaded, images), reconstruct(made, images))
    assert loaded.description == made.description
    assert torch.allclose(loaded.codebook.norm(dim=-1), torch.ones(6))


def test_images_come_back_with_the_values_that_they_may_have() -> None:
    data = stripes(levels=3)
    rebuilt = reconstruct(tokenizer(codebook(6), data), data.images["test"])
    assert rebuilt.dtype == torch.uint8
    assert rebuilt.shape == data.images["test"].shape
    assert int(rebuilt.max()) <= 2


def test_another_file_and_other_images_are_errors(tmp_path: Path) -> None:
    data = stripes()
    data.save(tmp_path / "images")
    with pytest.raises(KinoflowError, match="holds images, not tokenizer"):
        SavedTokenizer.load(tmp_path / "images")
    with pytest.raises(KinoflowError, match="images of 4 x 8 x 1: the tokenizer was trained for 8 x 8 x 1"):
        tokenizer(codebook(6), data).encode(data.images["test"][:, :4])


def test_a_mask_has_no_image() -> None:
    with pytest.raises(KinoflowError, match="0 to 5 expected, got 6 to 6; a mask is no code"):
        tokenizer(codebook(6), stripes()).decode(torch.full((1, 4, 4), 6))


def test_codes_that_no_training_image_has_are_never_data(tmp_path: Path) -> None:
    data = tokens(codebook(40), tmp_path)
    used = torch.bincount(data.train.long().flatten(), minlength=41) > 0
    assert 2 <= int(used.sum()) < 40
    assert torch.equal(data.vocabulary.kind_of.values == 0, used)
    assert data.vocabulary.mask == 40
    assert bool(used[data.validation.long()].all())
    assert data.record["codebook"]["dead"] == 40 - int(used.sum())
    assert torch.equal(live_codes(data), used[:40])


def test_held_out_images_get_the_nearest_of_the_codes_that_live(tmp_path: Path) -> None:
    images, codes = stripes(), codebook(40)
    images.images["test"][:] = torch.randint(0, 17, (6, 8, 8, 1), generator=torch.Generator().manual_seed(0))
    made = tokenizer(codes, images)
    data = encoded(made, images, {}, tmp_path)
    assert not bool(live_codes(data)[made.encode(images.images["test"])].all())  # or the test would say nothing
    assert bool(live_codes(data)[data.test.long()].all())


def test_codes_in_one_place_are_merged_into_the_first(tmp_path: Path) -> None:
    codes = codebook(6)
    doubled = torch.cat([codes, codes[:3] + 1e-8])
    data, plain = tokens(doubled, tmp_path), tokens(codes, tmp_path)
    assert torch.equal(data.train.long(), plain.train.long())
    assert data.vocabulary.kind_of.values[6:].tolist() == [-1] * 4
    assert data.record["codebook"]["duplicates"] == 3
    assert data.record["codebook"]["pairs"] == [(6, 0), (7, 1), (8, 2)]
    assert first_of_equals(doubled).tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2]
    assert first_of_equals(codes + 1e-4 * torch.arange(6)[:, None]).tolist() == list(range(6))


def test_a_collapsed_codebook_is_an_error_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match=r"collapsed to 1 of 5 codes.*tokenizer\.training\.learning_rate"):
        tokens(codebook(1).repeat(5, 1), tmp_path)


@pytest.mark.parametrize("augmentation, side, views", [("none", 8, 1), ("flip", 8, 2), ("ten_crop", 10, 10)])
def test_all_views_of_training_images_are_encoded_with_their_classes(
    augmentation: str, side: int, views: int, tmp_path: Path
) -> None:
    data = tokens(codebook(12), tmp_path, side=side, augmentation=augmentation)
    assert data.train.shape == (views * 28, 16)
    assert data.train.dtype == torch.uint16
    assert torch.equal(data.labels["train"], (torch.arange(28) % 2).repeat(views))
    assert data.test.shape == (6, 16)
    assert (data.grid, data.classes) == ((4, 4, 1), 2)


def test_the_stage_writes_tokens_with_the_vectors_of_codes(tmp_path: Path) -> None:
    images = stripes()
    images.save(tmp_path / "images")
    made = tokenizer(codebook(6), images)
    made.save(tmp_path / "weights")
    files = {"images": tmp_path / "images", "tokenizer": tmp_path / "weights", "output": tmp_path / "out" / "tokens"}
    encode_stage(Job(config(tmp_path), "latents"), **files)
    data = TokenData.load(tmp_path / "out" / "tokens")
    assert torch.equal(data.test.long().view(6, 4, 4), made.encode(images.images["test"], live_codes(data)))
    assert data.embeddings is not None
    assert torch.allclose(data.embeddings[:6].float(), made.codebook)
    assert torch.equal(data.embeddings[6], torch.zeros(4, dtype=data.embeddings.dtype))
    assert data.origin["codes"] == 6
    assert [file.name for file in (tmp_path / "out").iterdir()].count("tokens") == 1


def test_a_tokenizer_with_another_number_of_codes_is_an_error(tmp_path: Path) -> None:
    images = stripes()
    images.save(tmp_path / "images")
    tokenizer(codebook(7), images).save(tmp_path / "weights")
    files = {"images": tmp_path / "images", "tokenizer": tmp_path / "weights", "output": tmp_path / "tokens"}
    with pytest.raises(KinoflowError, match=r"trained for 7 codes, but experiments\.latents\.data\.codes is 6"):
        encode_stage(Job(config(tmp_path), "latents"), **files)


def test_the_report_is_of_test_images_by_codes_that_live(tmp_path: Path) -> None:
    images = stripes()
    made = tokenizer(codebook(40), images)
    data = encoded(made, images, {}, tmp_path)
    report = tokenizer_report(made, data, images)
    rebuilt = reconstruct(made, images.images["test"], live_codes(data))
    differences = (rebuilt.double() - images.images["test"].double()) / 16
    assert report["l1"] == pytest.approx(float(differences.abs().mean()))
    assert report["psnr"] == pytest.approx(float((-10 * differences.square().mean((1, 2, 3)).log10()).mean()))
    assert report["live"] + report["dead"] == report["codes"] == 40
    assert 1 < report["perplexity"] <= report["live"]


def test_an_image_that_comes_back_as_it_was_counts_as_a_hundred_decibels() -> None:
    image = torch.ones(2, 4, 4, 1)
    assert psnr(image, image, 17).tolist() == [100.0, 100.0]


def test_the_perplexity_of_codes_used_alike_is_their_number() -> None:
    assert perplexity(torch.tensor([5, 5, 5, 5, 0])) == pytest.approx(4)
    assert perplexity(torch.tensor([7, 0, 0])) == pytest.approx(1)
