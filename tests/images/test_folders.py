"""Folders of pictures are read into squares; what cannot be used is rejected and counted, or an error names it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from pipeline.images.imagedata import ImageData
from pipeline.images.picture import ImageError
from pipeline.images.sources import folder, imagenet
from pipeline.tokens.token_data import SPLITS


def noise(*shape: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def put(path: Path, pixels: NDArray[Any], mode: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(path)
    return path


def put_classes(root: Path, count: int = 10, side: int = 8, classes: tuple[str, ...] = ("cat", "dog")) -> Path:
    for number, name in enumerate(classes):
        for file in range(count):
            put(root / name / f"{file:03}.png", noise(side, side, 3, seed=100 * number + file))
    return root


def read(root: Path, cache: Path, **options: Any) -> ImageData:
    return folder.read(folder.Options(path=str(root), **({"size": 8} | options)), 0, cache)


def as_set(images: torch.Tensor) -> set[bytes]:
    return {image.numpy().tobytes() for image in images}


def test_class_folders_are_split_at_random_with_their_classes(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "pictures")
    data = read(root, tmp_path, held_out=0.1)
    assert [len(data.images[split]) for split in SPLITS] == [16, 2, 2]
    assert data.classes == ("cat", "dog")
    assert len(set.union(*(as_set(data.images[split]) for split in SPLITS))) == 20
    cats = as_set(torch.from_numpy(np.stack([noise(8, 8, 3, seed=number) for number in range(10)])))
    for image, label in zip(data.images["train"], data.labels["train"], strict=True):
        assert (image.numpy().tobytes() in cats) == (label == 0)
    assert data.record["rejected"] == []
    assert [path.name for path in folder.inputs(folder.Options(path=str(root)))] == ["cat", "dog"]


def test_workers_change_nothing(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "pictures", side=20)
    for workers in (1, 3):
        read(root, tmp_path, workers=workers).save(tmp_path / f"{workers}.safetensors")
    assert (tmp_path / "1.safetensors").read_bytes() == (tmp_path / "3.safetensors").read_bytes()


def test_folders_of_splits_are_used_and_only_missing_ones_held_out(tmp_path: Path) -> None:
    put_classes(tmp_path / "p" / "train")
    put_classes(tmp_path / "p" / "val", count=3)
    data = read(tmp_path / "p", tmp_path, held_out=0.2)
    assert [len(data.images[split]) for split in SPLITS] == [16, 6, 4]
    data = read(tmp_path / "p", tmp_path, train=2, validation=3, test=1)
    assert [len(data.images[split]) for split in SPLITS] == [2, 3, 1]


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    data = read(put_classes(tmp_path / "p", classes=("car", "train")), tmp_path)
    assert data.classes == ("car", "train")


def test_imagenet_tests_on_val_and_holds_validation_out_of_train(tmp_path: Path) -> None:
    put_classes(tmp_path / "i" / "train", side=12, classes=("n01", "n02"))
    put_classes(tmp_path / "i" / "val", side=12, count=2, classes=("n01", "n02"))
    options = imagenet.Options(path=str(tmp_path / "i"), size=20)
    data = imagenet.read(options, 0, tmp_path)
    assert [len(data.images[split]) for split in SPLITS] == [19, 1, 4]
    assert data.images["train"].shape[1:] == (22, 22, 3)
    assert (data.grid, data.views, data.origin["name"]) == ((20, 20, 3), 10, "imagenet")
    assert len(imagenet.inputs(options)) == 4
    options = imagenet.Options(path=str(tmp_path / "i"), size=20, validation_from="test")
    data = imagenet.read(options, 0, tmp_path)
    assert [len(data.images[split]) for split in SPLITS] == [20, 1, 3]


def test_validation_pictures_cannot_come_from_a_test_folder_that_is_not_there(tmp_path: Path) -> None:
    options = folder.Options(path=str(put_classes(tmp_path / "p")), validation_from="test")
    with pytest.raises(ImageError, match="p: has no test images of its own; set `validation_from: train`"):
        folder.read(options, 0, tmp_path)


def test_the_middle_of_a_picture_is_kept_in_proportion(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "p", side=40, count=5)
    wide = np.zeros((40, 80, 3), np.uint8)
    wide[:, 20:40], wide[:, 40:60] = 100, 200
    for file in root.rglob("*.png"):
        put(file, wide)
    image = read(root, tmp_path, margin=1.25).images["train"][0]
    assert image.shape == (10, 10, 3)
    assert (image[:, 2:4].int() - 100).abs().max() <= 2  # away from edges
    assert (image[:, 6:8].int() - 200).abs().max() <= 2


def test_photographs_are_turned_upright(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "p", count=5)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    pixels = noise(8, 8, 3)
    for file in root.rglob("*.png"):
        Image.fromarray(pixels).save(file, exif=exif)
    assert (read(root, tmp_path).images["train"][0].numpy() == np.rot90(pixels, -1)).all()


def test_grey_palette_and_transparent_pictures_are_converted_and_counted(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "p", count=5)
    grey, clear = np.full((8, 8), 77, np.uint8), np.zeros((8, 8, 4), np.uint8)
    put(root / "cat" / "grey.png", grey)
    palette = Image.new("P", (8, 8))
    palette.putpalette([200, 10, 30])
    palette.save(root / "cat" / "palette.png")
    put(root / "cat" / "clear.png", clear)
    put(root / "cat" / "16_bits.png", np.full((8, 8), 40000, np.uint16))
    put(root / "cat" / "cyan.jpg", np.full((8, 8, 3), 128, np.uint8), "CMYK")
    data = read(root, tmp_path)
    assert data.record["converted"] == {"CMYK": 1, "I;16": 1, "L": 1, "P": 1, "RGBA": 1}
    found = set.union(*(as_set(data.images[split]) for split in SPLITS))
    for colour in ((77, 77, 77), (200, 10, 30), (255, 255, 255), (156, 156, 156)):  # 156 = 40000 // 256
        assert bytes(colour) * 64 in found


def test_grey_is_kept_grey_if_one_channel_is_wanted(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "p", count=5)
    data = read(root, tmp_path, channels=1)
    assert data.grid == (8, 8, 1)
    assert data.record["converted"] == {"RGB": 10}


def test_damaged_picture_is_rejected_with_its_reason_or_an_error_if_there_are_too_many(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "p", side=30)
    bad = root / "cat" / "003.png"
    bad.write_bytes(bad.read_bytes()[:-500])
    with pytest.raises(ImageError, match=r"p: 1 picture cannot be used, and 0 may .*cat/003\.png: cannot be decoded"):
        read(root, tmp_path)
    data = read(root, tmp_path, tolerated=0.05)
    (rejected,) = data.record["rejected"]
    assert rejected["file"] == "cat/003.png"
    assert "truncated" in rejected["reason"]
    assert data.record["rejected_images"] == 1
    assert sum(len(data.images[split]) for split in SPLITS) == sum(len(data.labels[split]) for split in SPLITS) == 19


def test_small_picture_is_rejected_unless_it_may_be_enlarged(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "p", side=12)
    put(root / "dog" / "small.png", np.full((11, 40, 3), 9, np.uint8))
    with pytest.raises(ImageError, match=r"dog/small\.png: 40 x 11 pixels are less than 12 x 12\); .*set `enlarge`"):
        read(root, tmp_path, size=12)
    data = read(root, tmp_path, size=12, enlarge=True)
    assert bytes([9]) * (12 * 12 * 3) in set.union(*(as_set(data.images[split]) for split in SPLITS))


def test_files_that_are_no_pictures_are_counted_and_hidden_ones_left_out(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "p")
    (root / "cat" / "notes.txt").write_text("not a picture")
    (root / "cat" / "._000.png").write_bytes(b"not a picture")
    (root / ".cache").mkdir()
    data = read(root, tmp_path)
    assert data.record["not_pictures"] == 1
    assert data.record["pictures"] == {"train": 20}


def test_text_that_is_called_a_picture_is_rejected(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "p")
    (root / "cat" / "text.jpg").write_text("not a picture")
    with pytest.raises(ImageError, match=r"cat/text\.jpg: cannot be decoded \(cannot identify image file"):
        read(root, tmp_path)


def test_numbers_without_a_range_are_rejected(tmp_path: Path) -> None:
    root = put_classes(tmp_path / "p")
    put(root / "cat" / "heights.tif", np.full((8, 8), 1e5, np.float32))
    with pytest.raises(
        ImageError, match=r"heights\.tif: its numbers \(mode F\) have no known range; save it with 8 bits"
    ):
        read(root, tmp_path)


def test_folder_that_is_not_laid_out_as_it_should_be_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="nowhere: there is no such folder; check `path`"):
        read(tmp_path / "nowhere", tmp_path)
    assert folder.inputs(folder.Options(path=str(tmp_path / "nowhere"))) == [tmp_path / "nowhere"]
    flat = put(tmp_path / "flat" / "a.png", noise(8, 8, 3)).parent
    with pytest.raises(ImageError, match="flat: holds 1 pictures, but no class folders; put them"):
        read(flat, tmp_path)
    root = put_classes(tmp_path / "p")
    (root / "eel").mkdir()
    with pytest.raises(ImageError, match=r"p/eel: holds no picture .*; remove it or fill it"):
        read(root, tmp_path)


def test_folders_of_splits_that_do_not_agree_are_errors(tmp_path: Path) -> None:
    root = tmp_path / "p"
    put_classes(root / "train")
    put_classes(root / "val", count=1, classes=("cat", "eel"))
    with pytest.raises(ImageError, match=r"p/val: eel are no classes of .*p/train"):
        read(root, tmp_path)
    put_classes(root / "validation", count=1)
    with pytest.raises(ImageError, match="p: 'val' and 'validation' are both for validation; remove one"):
        read(root, tmp_path)
    flat = tmp_path / "flat"
    put_classes(flat / "train")
    put(flat / "val" / "a.png", noise(8, 8, 3))
    with pytest.raises(ImageError, match="flat/val: holds 1 pictures, but no class folders"):
        read(flat, tmp_path)
