"""A data set: rows of numbers from the user's own CSV file. Copy to pipeline/known/datasets/rows.py.

In the configuration: `data: {name: rows, path: my.csv, tokens: 8, columns: 3}`. An option of the type `Path` is an
input of the workflow: when the file changes, the data are prepared again, and preflight says if it is missing.
"""

from pathlib import Path

import numpy as np
import torch
from pydantic import Field

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData


class Options(Strict):
    """Which file, and how much of it is held out."""

    path: Path = Field(description="CSV file: one sequence per row, whole numbers from 0")
    tokens: int = Field(ge=2, description="how many different numbers there are")
    columns: int = Field(ge=1, description="numbers in a row")
    held_out: float = Field(0.1, gt=0, lt=0.5, description="share of the rows for validation, and as many for the test")


def vocabulary(options: Options) -> Vocabulary:
    """Return one token for each number, and a mask."""
    return Vocabulary.single(options.tokens, specials=1)


def length(options: Options) -> int:
    """Return the number of tokens in a sequence."""
    return options.columns


def prepare(options: Options, seed: int, cache: Path) -> TokenData:
    """Read the rows, shuffle them, and split them."""
    rows = torch.from_numpy(np.loadtxt(options.path, delimiter=",", dtype=np.int64, ndmin=2))
    if rows.shape[1] != options.columns or rows.min() < 0 or rows.max() >= options.tokens:
        expected = f"rows of {options.columns} numbers from 0 to {options.tokens - 1}"
        raise KinoflowError(f"{options.path}: {expected} expected; correct the file, or `columns` and `tokens`")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(derive_seed(seed, "rows")))
    count = max(1, int(len(rows) * options.held_out))
    validation, test, train = rows[order].split([count, count, len(rows) - 2 * count])
    origin = {"name": "rows"} | options.model_dump(mode="json")
    return TokenData(train, validation, test, vocabulary=vocabulary(options), origin=origin)
