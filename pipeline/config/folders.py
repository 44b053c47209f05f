"""Folders in a configuration: the workflow, the shell and the disk must be able to work with their names."""

import os
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from pipeline.config.problems import Problem, refuse


def check_folders(folders: Mapping[tuple[str, ...], str]) -> None:
    """Raise an error that lists the keys of all folders that cannot be used, and why."""
    refuse([Problem(key, folder, why) for key, folder in folders.items() for why in _reasons_against(folder)])


def _usable(folder: str) -> str:
    check_folders({(): folder})
    return folder


Folder = Annotated[str, AfterValidator(_usable), Field(json_schema_extra={"minLength": 1})]


def _reasons_against(folder: str) -> Iterator[str]:
    if not folder.strip():
        yield "must not be empty; name a folder"
    elif control := [letter for letter in folder if unicodedata.category(letter) in ("Cc", "Zl", "Zp")]:
        yield f"must not contain the control character {control[0]!a}; name another folder"
    else:
        if "{" in folder or "}" in folder:
            yield "must not contain braces, which Snakemake takes for a wildcard; name another folder"
        if folder.startswith("-"):
            yield f"must not begin with a hyphen, or commands take it for an option; write ./{folder}"
        if folder.startswith("~"):
            yield "must not begin with ~, which is not expanded; write the folder in full, from / on"
        if file := _in_the_way(Path(folder)):
            yield f"{file} exists and is not a folder; name another folder"


def _in_the_way(folder: Path) -> Path | None:
    """Return the first part of a path that exists and is a file, a device or a link to nothing."""
    parts = [*reversed(folder.parents), folder]
    return next((part for part in parts if os.path.lexists(part) and not os.path.isdir(part)), None)
