"""MP-20: Materials Project structures of at most 20 atoms in the splits of T. Xie et al. (2022), with energies."""

from pathlib import Path

import pandas as pd

from pipeline.crystals.dataset import CrystalOptions, distances, read_splits, shuffle, tokens_of, vocabulary
from pipeline.tokens.token_data import SPLITS

__all__ = ["CRYSTALS", "FILES", "Options", "distances", "read", "shuffle", "tokens_of", "vocabulary"]

CRYSTALS = True
FILES = ("mp20/train.csv", "mp20/val.csv", "mp20/test.csv")


class Options(CrystalOptions):
    """How crystals become tokens, and how many of them are used."""


def read(options: Options, seed: int, cache: Path) -> pd.DataFrame:
    """Return the rows of all structures."""
    return read_splits({split: cache / file for split, file in zip(SPLITS, FILES, strict=True)}, options, seed)
