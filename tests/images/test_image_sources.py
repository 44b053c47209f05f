"""Sets of images are read as they are stored; what cannot be used is rejected and counted, or an error names it."""

import gzip
import inspect
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from pipeline.config.plugins import IMAGE_SETS
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.images.picture import ImageError
from pipeline.images.sources import cifar10, digits, mnist
from pipeline.tokens.token_data import SPLITS


def noise(*shape: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def put(path: Path, pixels: NDArray[Any], mode: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(path)
    return path


@pytest.mark.parametrize("name", IMAGE_SETS.names())
def test_source_declares_what_every_source_has(name: str) -> None:
    source = IMAGE_SETS.load(name)
    options = source.Options(path="somewhere") if "path" in source.Options.model_fields else source.Options()
    assert source.levels(options) in range(2, 257)
    assert source.channels(options) in (1, 3)
    assert source.side(options) >= 1
    assert source.class_count(options) in (None, 10)
    assert list(inspect.signature(source.read).parameters) == ["options", "seed", "cache"]
    assert set(source.files(options)) <= set(CATALOGUE)
    assert all(field.description for field in source.Options.model_fields.values())


def put_digits(cache: Path, rows: NDArray[Any]) -> None:
    (cache / "digits").mkdir(exist_ok=True)
    lines = "".join(",".join(f"{value}" for value in row) + "\n" for row in rows)
    (cache / digits.FILES[0]).write_bytes(gzip.compress(lines.encode()))


def test_digits_are_split_without_overlap_by_the_seed(tmp_path: Path) -> None:
    rows = np.concatenate([noise(30, 64) % 17, np.arange(30)[:, None] % 10], axis=1)
    put_digits(tmp_path, rows)
    options = digits.Options(validation=5, test=6)
    data = digits.read(options, 1, tmp_path)
    assert {split: tuple(data.images[split].shape) for split in SPLITS} == {
        "train": (19, 8, 8, 1),
        "validation": (5, 8, 8, 1),
        "test": (6, 8, 8, 1),
    }
    found = {
        (*image.flatten().tolist(), int(label))
        for split in SPLITS
        for image, label in zip(data.images[split], data.labels[split], strict=True)
    }
    assert found == {tuple(row) for row in rows.tolist()}
    assert torch.equal(digits.read(options, 1, tmp_path).images["train"], data.images["train"])
    assert not torch.equal(digits.read(options, 2, tmp_path).images["train"], data.images["train"])
    assert len(digits.read(digits.Options(validation=5, test=6, train=3), 1, tmp_path).images["train"]) == 3


def test_digits_that_leave_nothing_to_train_on_or_are_damaged_are_errors(tmp_path: Path) -> None:
    put_digits(tmp_path, np.zeros((10, 65), int))
    with pytest.raises(ImageError, match=r"digits\.csv\.gz: of 10 images .* 200 for validation .* leave none"):
        digits.read(digits.Options(), 0, tmp_path)
    put_digits(tmp_path, np.full((10, 65), 17))
    with pytest.raises(ImageError, match=r"levels 0, ..., 16 .*fetch `digits` again"):
        digits.read(digits.Options(), 0, tmp_path)
    (tmp_path / digits.FILES[0]).write_bytes(b"not gzip")
    with pytest.raises(ImageError, match="fetch `digits` again"):
        digits.read(digits.Options(), 0, tmp_path)


def put_mnist(cache: Path) -> None:
    (cache / "mnist").mkdir(exist_ok=True)
    for number, count in ((0, 12), (2, 4)):
        header = bytes([0, 0, 8, 3]) + np.array([count, 28, 28], ">u4").tobytes()
        (cache / mnist.FILES[number]).write_bytes(header + noise(count, 28, 28, seed=number).tobytes())
        header = bytes([0, 0, 8, 1]) + np.array([count], ">u4").tobytes()
        (cache / mnist.FILES[number + 1]).write_bytes(header + bytes(label % 10 for label in range(count)))


def test_mnist_is_read_and_padded(tmp_path: Path) -> None:
    put_mnist(tmp_path)
    data = mnist.read(mnist.Options(validation=3), 0, tmp_path)
    assert [len(data.images[split]) for split in SPLITS] == [9, 3, 4]
    test = noise(4, 28, 28, seed=2)
    for image, label in zip(data.images["test"], data.labels["test"], strict=True):
        assert (image[..., 0].numpy() == test[label]).all()
    padded = mnist.read(mnist.Options(validation=3, size=32), 0, tmp_path)
    assert padded.grid == (32, 32, 1)
    assert torch.equal(padded.images["train"][:, 2:-2, 2:-2], data.images["train"])
    assert padded.images["train"].sum(dtype=torch.int64) == data.images["train"].sum(dtype=torch.int64)


def test_cut_mnist_is_an_error(tmp_path: Path) -> None:
    put_mnist(tmp_path)
    file = tmp_path / mnist.FILES[2]
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ImageError, match="t10k-images-idx3-ubyte: is not an IDX file of bytes in 3 dimensions; fetch"):
        mnist.read(mnist.Options(validation=3), 0, tmp_path)


PHOTOGRAPHS = {"train": noise(20, 32, 32, 3), "test": noise(3, 32, 32, 3, seed=1)}
LABELS = {"train": [number % 10 for number in range(20)], "test": [3, 8, 8]}


def put_cifar10(cache: Path) -> None:
    for split, names in cifar10.PNG_FILES.items():
        for name, part in zip(names, np.split(PHOTOGRAPHS[split], len(names)), strict=True):
            put(cache / name, part.reshape(len(part), 1024, 3))
        (cache / cifar10.LABEL_FILES[split]).write_text(json.dumps(LABELS[split]))


def put_cifar10_archive(cache: Path) -> Path:
    path = cache / cifar10.ARCHIVE
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as archive:
        for split, names in cifar10.MEMBERS.items():
            planes = PHOTOGRAPHS[split].transpose(0, 3, 1, 2).reshape(len(PHOTOGRAPHS[split]), -1)
            rows = np.concatenate([np.array(LABELS[split], np.uint8)[:, None], planes], axis=1)
            for name, part in zip(names, np.split(rows, len(names)), strict=True):
                member = tarfile.TarInfo(name)
                member.size = part.nbytes
                archive.addfile(member, io.BytesIO(part.tobytes()))
    return path


def test_cifar10_has_a_photograph_in_each_row_and_tokens_start_with_its_first_pixel(tmp_path: Path) -> None:
    put_cifar10(tmp_path)
    sets = cifar10.read_pngs(tmp_path)
    for split, (images, labels) in sets.items():
        assert (images.numpy() == PHOTOGRAPHS[split]).all()
        assert labels.tolist() == LABELS[split]
    assert sets["test"][0][0].flatten()[:3].tolist() == PHOTOGRAPHS["test"][0, 0, 0].tolist()
    data = cifar10.read(cifar10.Options(validation=4, train=10), 0, tmp_path)
    assert [len(data.images[split]) for split in SPLITS] == [10, 4, 3]
    assert (data.augmentation, data.classes[3]) == ("flip", "cat")


def test_cifar10_trains_on_all_its_training_images_if_validation_comes_from_the_test_images(tmp_path: Path) -> None:
    put_cifar10(tmp_path)
    data = cifar10.read(cifar10.Options(validation=1, validation_from="test"), 0, tmp_path)
    assert [len(data.images[split]) for split in SPLITS] == [len(LABELS["train"]), 1, 2]
    tests = torch.cat((data.images["validation"], data.images["test"])).flatten(1)
    assert sorted(tests.tolist()) == sorted(PHOTOGRAPHS["test"].reshape(3, -1).tolist())


def test_smaller_cifar10_has_the_means_of_squares_of_pixels(tmp_path: Path) -> None:
    put_cifar10(tmp_path)
    data = cifar10.read(cifar10.Options(validation=1, size=16), 0, tmp_path)
    assert data.grid == (16, 16, 3)
    wanted = PHOTOGRAPHS["test"].reshape(3, 16, 2, 16, 2, 3).mean(axis=(2, 4)).round().astype(np.uint8)
    assert sorted(data.images["test"].flatten(1).tolist()) == sorted(wanted.reshape(3, -1).tolist())
    assert cifar10.side(cifar10.Options(size=8)) == 8


def test_both_kinds_of_files_give_the_same_photographs(tmp_path: Path) -> None:
    put_cifar10(tmp_path)
    put_cifar10_archive(tmp_path)
    data = cifar10.read(cifar10.Options(validation=4), 0, tmp_path)
    official = cifar10.read(cifar10.Options(validation=4, files="official"), 0, tmp_path)
    for split in SPLITS:
        assert torch.equal(data.images[split], official.images[split])
        assert torch.equal(data.labels[split], official.labels[split])


def test_cifar10_that_is_not_what_it_should_be_is_an_error(tmp_path: Path) -> None:
    put_cifar10(tmp_path)
    (tmp_path / "cifar10/test_labels.json").write_text("[3, 8, 10]")
    with pytest.raises(ImageError, match=r"test_labels\.json: not a list of 3 classes"):
        cifar10.read(cifar10.Options(validation=4), 0, tmp_path)
    put(tmp_path / "cifar10/data_batch_2.png", noise(2, 1000, 3))
    with pytest.raises(ImageError, match=r"data_batch_2\.png: 1000 pixels a row, not 1024; fetch `cifar10` again"):
        cifar10.read(cifar10.Options(validation=4), 0, tmp_path)
    archive = put_cifar10_archive(tmp_path)
    archive.write_bytes(archive.read_bytes()[:-2000])
    with pytest.raises(ImageError, match=r"cifar-10-binary\.tar\.gz: not CIFAR-10 in binary .*again"):
        cifar10.read(cifar10.Options(validation=4, files="official"), 0, tmp_path)
