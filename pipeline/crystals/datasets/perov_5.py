"""Perov-5: perovskites of five atoms, from the benchmark of T. Xie et al. (2022).

The original training split is missing here. This set trains on nine tenths of the original validation split, validates
on the rest of it and tests on the original test split. Its energies (`heat_all`) are heats of formation, but not
relative to the references of the Materials Project, so the formation energies count as unknown.
"""

from pathlib import Path

import pandas as pd

from pipeline.crystals.dataset import CrystalOptions, distances, read_splits, shuffle, tokens_of, vocabulary

__all__ = ["CRYSTALS", "FILES", "Options", "distances", "read", "shuffle", "tokens_of", "vocabulary"]

CRYSTALS = True
FILES = ("perov_5/val.csv.gz", "perov_5/test.csv.gz")


class Options(CrystalOptions):
    """How crystals become tokens, and how many of them are used."""


def read(options: Options, seed: int, cache: Path) -> pd.DataFrame:
    """Return the rows of all structures."""
    files = {"train": cache / FILES[0], "test": cache / FILES[1]}
    return read_splits(files, options, seed, {"train": 9, "validation": 1})
