"""The user's own structures: a folder or zip of CIF files, extended XYZ, a CSV with a `cif` column, or parquet."""

from pathlib import Path

import pandas as pd
from pydantic import Field

from pipeline.crystals.dataset import SHARES, CrystalOptions, distances, read_splits, shuffle, tokens_of, vocabulary

__all__ = ["CRYSTALS", "Options", "distances", "inputs", "read", "shuffle", "tokens_of", "vocabulary"]

CRYSTALS = True


class Options(CrystalOptions):
    """Where the structures are, how they become tokens, and how many of them are used."""

    path: str = Field(min_length=1, description="folder or file of structures; splits without a path are drawn from it")
    validation_path: str | None = Field(None, min_length=1, description="structures for the validation loss")
    test_path: str | None = Field(None, min_length=1, description="structures that samples are compared with")


def inputs(options: Options) -> list[Path]:
    """Return the user's files that the tokens are made from, including each one below a folder."""
    found: list[Path] = []
    for path in _paths(options).values():
        found += sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return found


def read(options: Options, seed: int, cache: Path) -> pd.DataFrame:
    """Return the rows of all structures."""
    paths = _paths(options)
    shares = {split: share for split, share in SHARES.items() if split == "train" or split not in paths}
    return read_splits(paths, options, seed, shares)


def _paths(options: Options) -> dict[str, Path]:
    paths = {"train": options.path, "validation": options.validation_path, "test": options.test_path}
    return {split: Path(path).expanduser() for split, path in paths.items() if path is not None}
