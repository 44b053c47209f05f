"""Any folder of pictures: class folders, or `train`, `val` (or `validation`) and `test` with class folders in them."""

from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from pipeline.config import Strict
from pipeline.images.imagedata import Augmentation, ImageData, constant, rows_of_splits
from pipeline.images.picture import SUFFIXES, Framing, ImageError, files_below, is_picture
from pipeline.images.reading import PictureReader
from pipeline.tokens.token_data import SPLITS

_SHOWN = 5  # names in a message
side, channels = attrgetter("size"), attrgetter("channels")
levels, class_count = constant(256), constant(None)  # how many classes there are depends on the folders


class Options(Strict):
    """Where the pictures are, and how they become squares of one size."""

    NAME: ClassVar[str] = "folder"
    SPLIT_FOLDERS: ClassVar[Mapping[str, str]] = {
        "train": "train",
        "val": "validation",
        "validation": "validation",
        "test": "test",
    }

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
        0.05, gt=0, le=1 / 3, description="share of the training pictures for each split without a folder"
    )
    validation_from: Literal["train", "test"] = Field(
        "train", description="test: hold the validation pictures out of the test folder, and train on all others"
    )
    train: int | None = Field(None, ge=1, description="train on at most so many; null: all")
    validation: int | None = Field(None, ge=1, description="at most so many for the validation loss; null: all")
    test: int | None = Field(None, ge=1, description="at most so many for evaluation; null: all")
    enlarge: bool = Field(False, description="take pictures smaller than `size`, too, and enlarge them")
    tolerated: float = Field(0.01, ge=0, lt=1, description="share of the pictures that may be damaged or too small")
    workers: int = Field(4, ge=1, description="threads that decode; what they read is the same for any number")


def inputs(options: Options) -> list[Path]:
    """Return the class folders, or the path itself if there are none; `read` says what is wrong with it.

    A folder's time changes when a picture in it is added, removed or renamed.
    """
    root = Path(options.path).expanduser()
    try:
        splits = split_folders_of(root, options.SPLIT_FOLDERS)
        return [folder for split in splits.values() for folder in subfolders(split)]
    except ImageError:
        return [root]


def read(options: Options, seed: int, cache: Path) -> ImageData:
    """Read the pictures."""
    root = Path(options.path).expanduser()
    classes, files, others = list_pictures(root, options.SPLIT_FOLDERS)
    counts = {split: len(found) for split, found in files.items()}
    most = {"train": options.train, "validation": options.validation, "test": options.test}
    held_from = options.validation_from
    held = max(1, round(options.held_out * counts.get(held_from, 0)))
    held_out = {split: held for split in ("validation", "test") if split not in counts}
    rows = rows_of_splits(counts, held_out, most, seed, str(root), held_from)
    kept = round(options.size * options.margin)
    framing = Framing(kept, 1 if options.enlarge else options.size, options.channels)
    allowed = int(options.tolerated * sum(len(numbers) for _, numbers in rows.values()))
    reader = PictureReader(root, framing, workers=options.workers, allowed=allowed)
    images, labels = {}, {}
    for split, (source, numbers) in rows.items():
        chosen = [files[source][number] for number in numbers.tolist()]
        images[split], labels[split] = reader.read(split, chosen, cache)
    record = {"split_folders": sorted(counts), "pictures": counts, "not_pictures": others} | reader.record()
    origin = {"name": options.NAME} | options.model_dump(mode="json", exclude={"workers"})
    return ImageData(images, labels, classes, 256, options.size, options.augmentation, origin, record)


def list_pictures(
    root: Path, split_folders: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, list[tuple[str, int]]], int]:
    """Return the classes below a folder, the pictures of each split that has a folder, and how many files are none.

    A picture is a path relative to the root, and the number of its class. They are sorted by name.
    """
    folders = split_folders_of(root, split_folders)
    classes = tuple(folder.name for folder in subfolders(folders["train"]))
    numbers = {name: number for number, name in enumerate(classes)}
    files: dict[str, list[tuple[str, int]]] = {split: [] for split in folders}
    others = 0
    for split, folder in folders.items():
        found = subfolders(folder)
        if unknown := [class_folder.name for class_folder in found if class_folder.name not in numbers]:
            raise ImageError(f"{folder}: {_some(unknown)} are no classes of {folders['train']}; remove or rename them")
        for class_folder in found:
            below = list(files_below(class_folder))
            pictures = [str(file.relative_to(root)) for file in below if is_picture(file.name)]
            if not pictures:
                raise ImageError(f"{class_folder}: holds no picture ({', '.join(SUFFIXES)}); remove it or fill it")
            files[split] += [(picture, numbers[class_folder.name]) for picture in pictures]
            others += len(below) - len(pictures)
    return classes, files, others


def split_folders_of(root: Path, split_folders: Mapping[str, str]) -> dict[str, Path]:
    """Return the folder of each split that has one; without split folders, the root is that of `train`."""
    if not root.is_dir():
        raise ImageError(f"{root}: there is no such folder; check `path`")
    found = {folder.name: folder for folder in _folders(root)}
    # A class may be called "train". It is a split if it has class folders, or if all folders are named for splits.
    splits = "train" in found and (bool(_folders(found["train"])) or set(found) <= set(split_folders))
    if not splits:
        return {"train": root}
    folders: dict[str, Path] = {}
    for name, split in split_folders.items():
        if name in found:
            if split in folders:
                raise ImageError(f"{root}: {folders[split].name!r} and {name!r} are both for {split}; remove one")
            folders[split] = found[name]
    return {split: folders[split] for split in SPLITS if split in folders}


def subfolders(folder: Path) -> list[Path]:
    """Return the class folders in a folder, sorted by name; raise if there are none."""
    found = _folders(folder)
    if not found:
        there = sum(is_picture(entry.name) for entry in folder.iterdir())
        raise ImageError(
            f"{folder}: holds {there:,} pictures, but no class folders; put them into a folder for each class (one "
            "folder, if they have no classes)"
        )
    return found


def _folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
