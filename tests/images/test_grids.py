"""Images come back from archives as they were, grids show each where it belongs, and bad pictures are named."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from pipeline.images.evaluate import read_pictures
from pipeline.images.grids import grid_of, write_png, write_png_archive
from pipeline.images.picture import ImageError


def noise(count: int, side: int = 4, channels: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(256, (count, side, side, channels), generator=generator, dtype=torch.uint8)


def test_grid_has_images_row_by_row_with_white_gaps_and_a_white_rest() -> None:
    images = noise(3)
    grid = grid_of(images, columns=2, scale=2, gap=1)
    assert grid.shape == (17, 17, 3)
    assert grid.dtype == np.uint8
    for number, (top, left) in enumerate([(0, 0), (0, 9), (9, 0)]):
        assert (grid[top : top + 8 : 2, left : left + 8 : 2] == images[number].numpy()).all()
        assert (grid[top + 1 : top + 8 : 2, left + 1 : left + 8 : 2] == images[number].numpy()).all()
    assert (grid[8] == 255).all()
    assert (grid[9:, 9:] == 255).all()


def test_grey_images_are_grey_in_a_grid() -> None:
    images = noise(1, channels=1)
    assert (grid_of(images, 1) == images[0].expand(-1, -1, 3).numpy()).all()


@pytest.mark.parametrize("images", [noise(1).float(), noise(0), noise(1)[0], noise(1, channels=2)])
def test_what_is_no_set_of_images_is_an_error(images: Tensor, tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="give images uint8"):
        grid_of(images, 1)
    with pytest.raises(ImageError, match="give images uint8"):
        write_png_archive(tmp_path / "a.zip", images)


def test_a_picture_that_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    image = noise(1)[0].numpy()
    write_png(tmp_path / "below" / "a.png", image)
    assert [file.name for file in (tmp_path / "below").iterdir()] == ["a.png"]
    assert (read_pictures(tmp_path)[0].numpy() == image).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_archive_gives_the_images_back_in_their_order(channels: int, tmp_path: Path) -> None:
    images = noise(12, channels=channels)
    write_png_archive(tmp_path / "images.zip", images)
    with zipfile.ZipFile(tmp_path / "images.zip") as archive:
        assert archive.namelist() == [f"{number:05}.png" for number in range(12)]
    found = read_pictures(tmp_path / "images.zip", tmp_path / "cache")
    assert torch.equal(found, images.expand(-1, -1, -1, 3))
    assert not list((tmp_path / "cache").iterdir())


def test_equal_images_give_equal_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_png_archive(tmp_path / "a.zip", noise(3))
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_png_archive(tmp_path / "b.zip", noise(3))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_picture_of_another_size_is_named_with_both_sizes(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", noise(1)[0].numpy())
    write_png(tmp_path / "b.png", noise(1, side=5)[0].numpy())
    with pytest.raises(ImageError, match=r"b\.png: 5 x 5 pixels, but .*a\.png has 4 x 4; give pictures of one size"):
        read_pictures(tmp_path)


def test_damaged_picture_is_named(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", noise(1)[0].numpy())
    (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes()[:50])
    with pytest.raises(ImageError, match=r"b\.png: cannot be decoded .*mend or remove it"):
        read_pictures(tmp_path)
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("inner/b.png", (tmp_path / "b.png").read_bytes())
    with pytest.raises(ImageError, match=r"c\.zip: inner/b\.png: cannot be decoded"):
        read_pictures(tmp_path / "c.zip")


def test_damaged_member_of_an_archive_is_named(tmp_path: Path) -> None:
    write_png_archive(tmp_path / "a.zip", noise(2))
    content = bytearray((tmp_path / "a.zip").read_bytes())
    content[60] ^= 255
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(ImageError, match=r"a\.zip: 00000\.png: cannot be unpacked"):
        read_pictures(tmp_path / "a.zip")


def test_what_is_not_there_or_holds_no_pictures_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"nowhere: is no folder and no zip file"):
        read_pictures(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("no zip file")
    with pytest.raises(ImageError, match=r"notes\.txt: is no folder and no zip file"):
        read_pictures(tmp_path / "notes.txt")
    with pytest.raises(ImageError, match="holds no picture"):
        read_pictures(tmp_path)


def test_hidden_files_of_an_archive_are_left_out(tmp_path: Path) -> None:
    content = io.BytesIO()
    Image.fromarray(noise(1)[0].numpy()).save(content, "PNG")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.png", content.getvalue())
        archive.writestr("__MACOSX/._a.png", b"not a picture")
    assert len(read_pictures(tmp_path / "a.zip")) == 1
