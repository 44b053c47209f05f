"""Folders of pictures: class folders, or folders of splits with class folders in them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.images.picture import SUFFIXES, ImageError, is_picture
from pipeline.tokens.token_data import SPLITS

SPLIT_FOLDERS: Mapping[str, str] = {"train": "train", "val": "validation", "validation": "validation", "test": "test"}
_SHOWN = 5  # names in a message


@dataclass(frozen=True)
class Listing:
    """The pictures of each split that has a folder: paths relative to the root, and class numbers."""

    root: Path
    classes: tuple[str, ...]
    files: dict[str, list[tuple[str, int]]]
    not_pictures: int


def list_pictures(root: Path, split_folders: Mapping[str, str] = SPLIT_FOLDERS) -> Listing:
    """Return the pictures below a folder, sorted by name; raise if it has no classes, or an empty one."""
    folders = split_folders_of(root, split_folders)
    classes = tuple(folder.name for folder in subfolders(folders["train"]))
    numbers = {name: number for number, name in enumerate(classes)}
    files: dict[str, list[tuple[str, int]]] = {}
    others = 0
    for split, folder in folders.items():
        found = subfolders(folder)
        if unknown := [class_folder.name for class_folder in found if class_folder.name not in numbers]:
            raise ImageError(f"{folder}: {_some(unknown)} are no classes of {folders['train']}; remove or rename them")
        files[split] = []
        for class_folder in found:
            before = len(files[split])
            for name in _files_below(class_folder):
                if is_picture(name):
                    relative = os.path.relpath(name, root)
                    files[split].append((relative, numbers[class_folder.name]))
                else:
                    others += 1
            if len(files[split]) == before:
                raise ImageError(f"{class_folder}: holds no picture ({', '.join(SUFFIXES)}); remove it or fill it")
    return Listing(root, classes, files, others)


def class_folders(root: Path, split_folders: Mapping[str, str] = SPLIT_FOLDERS) -> list[Path]:
    """Return all class folders; a folder's time changes when a picture in it is added, removed or renamed."""
    return [folder for split in split_folders_of(root, split_folders).values() for folder in subfolders(split)]


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


def _files_below(folder: Path) -> Iterator[str]:
    """Yield the paths of all files below a folder, sorted by name, without hidden ones."""
    for place, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(names) if not name.startswith("."))


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
