"""Images come back from their file as they were, and views of them are where they should be."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.images.imagedata import VIEWS, ImageData, central, to_bytes, view
from pipeline.images.picture import ImageError
from pipeline.images.reading import Stack
from pipeline.store.tensors import read_tensors, write_tensors
from pipeline.tokens.token_data import SPLITS


def images(count: int, side: int = 6, channels: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(count)
    return torch.randint(256, (count, side, side, channels), generator=generator, dtype=torch.uint8)


def data(crop: int = 4) -> ImageData:
    counts = dict(zip(SPLITS, (7, 3, 2), strict=True))
    return ImageData(
        {split: images(count) for split, count in counts.items()},
        {split: torch.arange(count) % 2 for split, count in counts.items()},
        ("cat", "dög"),
        256,
        crop,
        "ten_crop",
        {"name": "made up"},
        {"rejected": []},
    )


def test_file_gives_back_all_that_was_saved(tmp_path: Path) -> None:
    data().save(tmp_path / "images.safetensors")
    found = ImageData.load(tmp_path / "images.safetensors")
    for split in SPLITS:
        assert torch.equal(found.images[split], data().images[split])
        assert torch.equal(found.labels[split], data().labels[split])
        assert found.labels[split].dtype == torch.int64
    for name in ("classes", "levels", "crop", "augmentation", "origin", "record", "grid", "views"):
        assert getattr(found, name) == getattr(data(), name)


def test_equal_data_give_equal_files_that_safetensors_reads(tmp_path: Path) -> None:
    for name in ("a", "b"):
        data().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    tensors, description = read_tensors(tmp_path / "a", "images")
    assert torch.equal(tensors["train"], data().images["train"])
    assert description["classes"] == ["cat", "dög"]


def test_what_is_done_to_loaded_images_does_not_change_their_file(tmp_path: Path) -> None:
    data().save(tmp_path / "a")
    before = (tmp_path / "a").read_bytes()
    ImageData.load(tmp_path / "a").images["train"].zero_()
    assert (tmp_path / "a").read_bytes() == before


def test_file_larger_than_the_memory_can_be_loaded(tmp_path: Path) -> None:
    count, side = 2**14, 2**14  # 4 TiB of nothing: the file takes no space
    entry = json.dumps({"kind": "images", "description": {"crop": 1}})
    array = {"dtype": "U8", "shape": [count, side, side, 1], "data_offsets": [0, count * side**2]}
    header = json.dumps({"__metadata__": {"kinoflow": entry}, "train": array}).encode()
    with (tmp_path / "large").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        try:
            file.truncate(8 + len(header) + count * side**2)
        except OSError:
            pytest.skip("the file system has no files of this size")
    tensors, description = read_tensors(tmp_path / "large", "images")
    assert tensors["train"].shape == (count, side, side, 1)
    assert tensors["train"][-1, -1].sum() == 0
    assert description == {"crop": 1}


def test_damaged_file_and_one_of_something_else_are_errors(tmp_path: Path) -> None:
    data().save(tmp_path / "a")
    (tmp_path / "b").write_bytes((tmp_path / "a").read_bytes()[:-5])
    with pytest.raises(KinoflowError, match=r"b: cannot be read as a file of images .*make it again"):
        ImageData.load(tmp_path / "b")
    with pytest.raises(KinoflowError, match="c: cannot be read as a file of images"):
        ImageData.load(tmp_path / "c")
    write_tensors(tmp_path / "d", "tokens", {"train": torch.zeros(2)}, {})
    with pytest.raises(KinoflowError, match="d: holds tokens, not images"):
        ImageData.load(tmp_path / "d")


def test_images_that_are_no_equal_squares_are_errors() -> None:
    for wrong, message in [
        (images(3)[:, :5], "no square"),
        (images(3, side=5), "no square as in train"),
        (images(3, channels=1), "no square as in train"),
        (images(0), "give more data"),
        (images(3).float(), "uint8"),
        (images(2), "a class each"),
    ]:
        with pytest.raises(KinoflowError, match=message):
            replace(data(), images=data().images | {"validation": wrong})
    with pytest.raises(KinoflowError, match="crop 7: images have a side of 6"):
        replace(data(), crop=7)


def test_views_are_the_middle_and_the_corners_each_mirrored_too() -> None:
    one = torch.arange(36, dtype=torch.uint8).view(1, 6, 6, 1)
    firsts = [int(view(one, 4, "ten_crop", number)[0, 0, 0, 0]) for number in range(10)]
    assert firsts == [7, 10, 0, 3, 2, 5, 12, 15, 14, 17]
    assert torch.equal(view(one, 4, "flip", 1), central(one, 4).flip(2))
    assert torch.equal(central(one, 6), one)
    with pytest.raises(KinoflowError, match="view 2: 'flip' has 2"):
        view(one, 4, "flip", 2)


def test_parts_are_all_images_in_order_whatever_their_size() -> None:
    for at_once in (1, 300, 2**26):
        seen, labels = (torch.cat(tensors) for tensors in zip(*data().parts("train", at_once), strict=True))
        assert torch.equal(seen, central(data().images["train"], 4))
        assert torch.equal(labels, data().labels["train"])
        seen, labels = (torch.cat(tensors) for tensors in zip(*data().training_parts(at_once), strict=True))
        assert len(seen) == len(labels) == 7 * VIEWS["ten_crop"]
        assert torch.equal(seen[7 * 3 : 7 * 4], view(data().images["train"], 4, "ten_crop", 3))
        assert torch.equal(labels, data().labels["train"].repeat(10))


@pytest.mark.parametrize("at_once", [1, 300, 2**26])
def test_views_that_are_passed_over_are_missing_and_the_parts_of_the_others_end_where_they_did(at_once: int) -> None:
    whole = list(data().training_parts(at_once))
    ends = [sum(len(labels) for _, labels in whole[: number + 1]) for number in range(len(whole))]
    seen, labels = (torch.cat(tensors) for tensors in zip(*whole, strict=True))
    for passed in (0, 1, 7, 20, 7 * 10 - 1):
        parts = list(data().training_parts(at_once, passed=passed))
        assert torch.equal(torch.cat([images for images, _ in parts]), seen[passed:])
        assert torch.equal(torch.cat([classes for _, classes in parts]), labels[passed:])
        assert len(parts) == sum(end > passed for end in ends)
        assert len(parts[-1][0]) == min(len(whole[-1][0]), 7 * 10 - passed)
    assert list(data().training_parts(at_once, passed=7 * 10)) == []


def test_levels_are_spread_over_all_bytes() -> None:
    assert to_bytes(torch.tensor([0, 8, 16], dtype=torch.uint8), 17).tolist() == [0, 128, 255]
    assert to_bytes(torch.tensor([0, 8, 255], dtype=torch.uint8), 256).tolist() == [0, 8, 255]


def test_stack_gives_its_images_and_leaves_no_file(tmp_path: Path) -> None:
    with Stack(tmp_path / "cache") as stack:
        for image in images(5):
            stack.add(image.numpy())
        found = stack.images()
    assert torch.equal(found, images(5))
    assert not list((tmp_path / "cache").iterdir())
    with Stack(tmp_path) as stack:
        assert len(stack.images()) == 0


def test_full_disk_is_an_error_that_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", lambda dir: open("/dev/full", "wb", buffering=0))  # noqa: SIM115
    with (
        Stack(tmp_path) as stack,
        pytest.raises(ImageError, match=f"{tmp_path}: cannot hold more than 0 images .*space"),
    ):
        stack.add(images(1)[0].numpy())
