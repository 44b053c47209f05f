"""The description of the training images goes on after it was stopped, and is the same to the last bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from stopping_network import Network, same
from torch import Tensor

from pipeline.config import Config
from pipeline.images import frechet
from pipeline.images.frechet import ImageReference
from pipeline.images.imagedata import ImageData
from pipeline.stages.image_reference import image_reference as image_reference_stage
from pipeline.stages.job import Job
from pipeline.store.tensor_journal import KIND
from pipeline.store.tensors import read_tensors
from pipeline.tokens.token_data import SPLITS

IMAGES, VIEWS, BATCH = 40, 10, 7
BATCHES = VIEWS * 6  # 40 images of a view are five batches of 7, and one of 5
KEPT = "kept-statistics.safetensors"


def spots(seed: int = 0) -> ImageData:
    """Return images of 6 x 6 pixels that are seen in ten views of 4 x 4."""
    generator = torch.Generator().manual_seed(seed)
    images = {split: torch.randint(16, (IMAGES, 6, 6, 1), generator=generator, dtype=torch.uint8) for split in SPLITS}
    labels = {split: torch.zeros(IMAGES, dtype=torch.int64) for split in SPLITS}
    return ImageData(images, labels, ("spot",), 16, 4, "ten_crop", {"name": "spots"})


def config(seed: int = 0, **metric: Any) -> Config:
    scoring = {"frechet_distance": {"features": "classifier", "compared": 90, "batch": BATCH} | metric}
    run = {"path": {"name": "mask"}, "loss": "cross_entropy", "model": {"name": "mlp"}}
    experiment = {"data": {"name": "pixels"}, "model": {"name": "mlp"}, "scoring": scoring, "runs": {"mask": run}}
    return Config.model_validate({"scale": "tiny", "seed": seed, "experiments": {"spots": experiment}})


@pytest.fixture
def describe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Tensor]]:
    """Return a function that describes the images by so many batches, and returns these; None: by all."""
    monkeypatch.setattr(frechet, "_AT_ONCE", 20)  # three batches, at the end of a view a few images more
    monkeypatch.setattr(frechet, "KEPT_EVERY", 50)
    spots().save(tmp_path / "images")

    def describe(batches: int | None = None, chosen: Config | None = None, journal: bool = True) -> list[Tensor]:
        network = Network(4 * 4, batches)
        network.is_used(monkeypatch)
        files = {"images": tmp_path / "images", "classifier": None, "output": tmp_path / "reference"}
        kept = tmp_path / "journal" if journal else None
        if batches is None:
            image_reference_stage(Job(chosen or config(), "spots"), **files, journal=kept)
        else:
            with pytest.raises(KeyboardInterrupt):
                image_reference_stage(Job(chosen or config(), "spots"), **files, journal=kept)
            assert not files["output"].exists()
        return network.asked

    return describe


@pytest.fixture
def calm(describe: Callable[..., list[Tensor]], tmp_path: Path) -> tuple[list[Tensor], bytes]:
    """Return the batches and the file of a description without a journal."""
    batches = describe(journal=False)
    assert len(batches) == BATCHES
    return batches, (tmp_path / "reference").read_bytes()


@pytest.fixture(autouse=True)
def forgotten(calm: Any, tmp_path: Path) -> None:
    """Remove what the calm description has written."""
    (tmp_path / "reference").unlink()


@pytest.mark.parametrize("stops", [(9,), (25,), (BATCHES - 1,), (10, 12, 20), (1,)])
def test_one_that_was_stopped_goes_on_with_the_next_part_and_gives_the_same_file(
    stops: tuple[int, ...],
    describe: Callable[..., list[Tensor]],
    calm: tuple[list[Tensor], bytes],
    tmp_path: Path,
) -> None:
    batches, expected = calm
    done = 0
    for stop in stops:
        seen = describe(stop)
        assert same(seen, batches[done : done + stop])
        again = done + stop
        done = kept_batches(tmp_path / "journal")
        assert again - 11 < done <= again  # no more is lost than a part, and what was added at once
    assert same(describe(), batches[done:])
    assert (tmp_path / "reference").read_bytes() == expected
    assert not (tmp_path / "journal").exists()


def kept_batches(journal: Path) -> int:
    """Return how many batches went into the one file of a journal, 0 if there is none."""
    if not journal.exists():
        return 0
    (path,) = journal.iterdir()
    assert path.name == KEPT
    views, rest = divmod(int(read_tensors(path, KIND)[0]["n"]), IMAGES)
    assert rest % BATCH == 0
    return views * 6 + rest // BATCH


@pytest.mark.parametrize("size", [0, 100, -1])
def test_a_torn_part_is_ignored(
    size: int, describe: Callable[..., list[Tensor]], calm: tuple[list[Tensor], bytes], tmp_path: Path
) -> None:
    describe(30)
    part = tmp_path / "journal" / KEPT
    part.write_bytes(part.read_bytes()[:size])
    (tmp_path / "journal" / f".{KEPT}.1-ab.tmp").write_bytes(b"left by a kill")
    assert same(describe(), calm[0])
    assert (tmp_path / "reference").read_bytes() == calm[1]
    assert not (tmp_path / "journal").exists()


@pytest.mark.parametrize("change", [{"batch": 8}, {"compared": 91}, {"seed": 1}, {"features": "inception"}])
def test_parts_of_other_settings_are_not_used(
    change: dict[str, Any], describe: Callable[..., list[Tensor]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.images.features.inception.files", lambda options: [])  # not fetched
    describe(30, config(**change))
    assert (tmp_path / "journal" / KEPT).exists()
    assert len(describe()) == BATCHES


def test_parts_of_other_images_are_not_used(describe: Callable[..., list[Tensor]], tmp_path: Path) -> None:
    describe(30)
    spots(seed=1).save(tmp_path / "images")
    assert len(describe()) == BATCHES


def test_neighbours_are_those_of_the_views_that_were_chosen_before_and_after_the_stop(
    describe: Callable[..., list[Tensor]], tmp_path: Path
) -> None:
    describe(30)
    describe()
    found = ImageReference.load(tmp_path / "reference")
    assert found.statistics.n == IMAGES * VIEWS
    assert found.neighbours.shape == (90, 4)
    assert len(found.neighbours.unique(dim=0)) == 90
