"""Any folder of pictures: class folders, or `train`, `val` (or `validation`) and `test` with class folders in them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.config import Strict
from pipeline.images.folders import SPLIT_FOLDERS, class_folders, list_pictures
from pipeline.images.imagedata import Augmentation, ImageData
from pipeline.images.picture import Framing, ImageError
from pipeline.images.reading import PictureReader
from pipeline.images.splitting import rows_of_splits


class Options(Strict):
    """Where the pictures are, and how they become squares of one size."""

    path: str = Field(min_length=1, description="folder of class folders, or of train, val and test with such in them")
    size: int = Field(32, ge=1, description="pixels along a side that networks see")
    margin: float = Field(
        1.0, ge=1, le=4, description="pictures are kept so many times larger, for crops: the middle of the shorter side"
    )
    channels: Literal[1, 3] = Field(3, description="1: grey; 3: colours")
    augmentation: Augmentation = Field(
        "none", description="flip: train on mirrored pictures, too; ten_crop: on corners and the middle, mirrored, too"
    )
    held_out: float = Field(
        0.05, gt=0, le=1 / 3, description="share of the training pictures for each split that has no folder"
    )
    train: int | None = Field(None, ge=1, description="train on at most so many; null: all")
    validation: int | None = Field(None, ge=1, description="at most so many for the validation loss; null: all")
    test: int | None = Field(None, ge=1, description="at most so many for evaluation; null: all")
    enlarge: bool = Field(False, description="take pictures smaller than `size`, too, and enlarge them")
    tolerated: float = Field(0.01, ge=0, lt=1, description="share of the pictures that may be damaged or too small")
    workers: int = Field(4, ge=1, description="threads that decode; what they read is the same for any number")


def levels(options: Options) -> int:
    """Return how many values a channel can have."""
    return 256


def side(options: Options) -> int:
    """Return the pixels along a side that networks see."""
    return options.size


def channels(options: Options) -> int:
    """Return how many channels a pixel has."""
    return options.channels


def class_count(options: Options) -> int | None:
    """Return None: it depends on the folders."""
    return None


def inputs(options: Options) -> list[Path]:
    """Return the class folders, or the path itself if there are none."""
    return inputs_of(options, SPLIT_FOLDERS)


def read(options: Options, seed: int, cache: Path) -> ImageData:
    """Read the pictures."""
    return read_folder("folder", options, seed, cache, SPLIT_FOLDERS)


def inputs_of(options: Options, split_folders: Mapping[str, str]) -> list[Path]:
    """Return the class folders, or the path itself if there are none; `read` says what is wrong with it."""
    root = Path(options.path).expanduser()
    try:
        return class_folders(root, split_folders)
    except ImageError:
        return [root]


def read_folder(name: str, options: Options, seed: int, cache: Path, split_folders: Mapping[str, str]) -> ImageData:
    """Read the pictures of the source `name`, whose folders are named as in `split_folders`."""
    listing = list_pictures(Path(options.path).expanduser(), split_folders)
    counts = {split: len(files) for split, files in listing.files.items()}
    most = {"train": options.train, "validation": options.validation, "test": options.test}
    held_out = {
        split: max(1, round(options.held_out * counts["train"]))
        for split in ("validation", "test")
        if split not in counts
    }
    rows = rows_of_splits(counts, held_out, most, seed, str(listing.root))
    kept = round(options.size * options.margin)
    framing = Framing(kept, 1 if options.enlarge else options.size, options.channels)
    allowed = int(options.tolerated * sum(len(numbers) for _, numbers in rows.values()))
    reader = PictureReader(listing.root, framing, workers=options.workers, allowed=allowed)
    images, labels = {}, {}
    for split, (source, numbers) in rows.items():
        files = [listing.files[source][number] for number in numbers.tolist()]
        images[split], labels[split] = reader.read(split, files, cache)
    record = {"split_folders": sorted(counts), "pictures": counts, "not_pictures": listing.not_pictures}
    return ImageData(
        images,
        labels,
        listing.classes,
        256,
        options.size,
        options.augmentation,
        {"name": name} | options.model_dump(mode="json", exclude={"workers"}),
        record | reader.record(),
    )
