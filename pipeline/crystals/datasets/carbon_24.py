"""Carbon-24: cells of 6 to 24 carbon atoms, in the splits of T. Xie et al. (2022).

All have the same composition. They are minima at 10 GPa, which a hull at no pressure says nothing about: their energies
count as unknown. Published coverages on this set use cut-offs of 0.2 (structure) and 4 (composition); set them in
`scoring.crystal_coverage`, whose defaults are those for MP-20.
"""

from pathlib import Path

import pandas as pd
from pydantic import Field

from pipeline.crystals.dataset import CrystalOptions, distances, read_splits, shuffle, tokens_of, vocabulary
from pipeline.tokens.token_data import SPLITS

__all__ = ["CRYSTALS", "FILES", "Options", "distances", "read", "shuffle", "tokens_of", "vocabulary"]

CRYSTALS = True
FILES = ("carbon_24/train.csv", "carbon_24/val.csv", "carbon_24/test.csv")


class Options(CrystalOptions):
    """How crystals become tokens, and how many of them are used."""

    max_atoms: int = Field(24, ge=1, description="structures with more atoms are left out")


def read(options: Options, seed: int, cache: Path) -> pd.DataFrame:
    """Return the rows of all structures."""
    return read_splits({split: cache / file for split, file in zip(SPLITS, FILES, strict=True)}, options, seed)
