"""A part of MP-20: mostly its binaries and ternaries, in its own splits, with energies. Not to be called MP-20."""

from pathlib import Path

import pandas as pd

from pipeline.crystals.dataset import CrystalOptions, distances, read_splits, shuffle, tokens_of, vocabulary
from pipeline.tokens.token_data import SPLITS

__all__ = ["CRYSTALS", "FILES", "Options", "distances", "read", "shuffle", "tokens_of", "vocabulary"]

CRYSTALS = True
FILES = ("mp20_part/train.csv.gz", "mp20_part/val.csv.gz", "mp20_part/test.csv.gz")


class Options(CrystalOptions):
    """How crystals become tokens, and how many of them are used."""


def read(options: Options, seed: int, cache: Path) -> pd.DataFrame:
    """Return the rows of all structures."""
    return read_splits({split: cache / file for split, file in zip(SPLITS, FILES, strict=True)}, options, seed)
