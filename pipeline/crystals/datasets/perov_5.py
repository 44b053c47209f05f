"""Perov-5: perovskites of five atoms, in the splits of T. Xie et al. (2022).

All three files come from the commit that published them. A mirror may hold them packed (`val.csv.gz`). Where the
training file cannot be had, `train_on_validation` trains on nine tenths of the validation split and validates on the
rest; the test split is the same. The energies (`heat_all`) are heats of formation, but not relative to the references
of the Materials Project, so the formation energies count as unknown. Published coverages on this set use cut-offs of
0.2 (structure) and 4 (composition); set them in `scoring.crystal_coverage`, whose defaults are those for MP-20.
"""

from pathlib import Path

import pandas as pd
from pydantic import Field

from pipeline.crystals.dataset import CrystalOptions, distances, read_splits, shuffle, tokens_of, vocabulary
from pipeline.tokens.token_data import SPLITS

__all__ = ["CRYSTALS", "FILES", "Options", "distances", "files", "read", "shuffle", "tokens_of", "vocabulary"]

CRYSTALS = True
FILES = ("perov_5/train.csv", "perov_5/val.csv", "perov_5/test.csv")


class Options(CrystalOptions):
    """How crystals become tokens, how many of them are used, and what stands in for the training split."""

    train_on_validation: bool = Field(
        False, description="train on nine tenths of the validation split, validate on the rest, need no training file"
    )


def files(options: Options) -> list[str]:
    """Return the catalogue names of the files that are read."""
    return list(FILES[1:] if options.train_on_validation else FILES)


def read(options: Options, seed: int, cache: Path) -> pd.DataFrame:
    """Return the rows of all structures."""
    train, validation, test = (cache / file for file in FILES)
    if options.train_on_validation:
        return read_splits({"train": validation, "test": test}, options, seed, {"train": 9, "validation": 1})
    return read_splits(dict(zip(SPLITS, (train, validation, test), strict=True)), options, seed)
