"""What data sets of crystals share: options, splits, Niggli cells, rows with reasons, and tokens.

A data set of crystals is a file in `pipeline/crystals/datasets` with `CRYSTALS = True`, `Options` and
`read(options, seed, cache)`, which returns the rows of all its structures; the rest comes from here. Rows are a crystal
frame with `split`, `formation_energy`, `energy_above_hull` (eV/atom, NaN: unknown) and `niggli` (a reduced cell).
"""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from torch import Tensor

from pipeline.config import Strict
from pipeline.crystals import tokens as crystal_tokens
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.reading import COLUMNS, read_structures
from pipeline.crystals.rejections import summary_of
from pipeline.crystals.table import Row, crystal_of, frame_of, records_of, row_of
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.store.progress import Progress
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import SPLITS, TokenData

SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
shuffle = crystal_tokens.shuffle_atoms
_LIMIT = "use at most so many structures, drawn at random; null: all"


class CrystalOptions(Strict):
    """How crystals become tokens, and how many of them are used."""

    max_atoms: int = Field(20, ge=1, description="structures with more atoms are left out")
    rounding: crystal_tokens.Rounding = Field("nearest", description="how numbers become tokens")
    niggli: bool = Field(True, description="reduce every cell to its Niggli cell")
    train: int | None = Field(None, ge=1, description=f"structures to train on: {_LIMIT}")
    validation: int | None = Field(None, ge=1, description=f"structures for the validation loss: {_LIMIT}")
    test: int | None = Field(None, ge=1, description=f"structures that samples are compared with: {_LIMIT}")


def vocabulary(options: CrystalOptions) -> Vocabulary:
    """Return the vocabulary of 878 tokens."""
    return crystal_tokens.vocabulary()


def distances(options: CrystalOptions) -> Tensor:
    """Return the distances between tokens, for metric paths."""
    return crystal_tokens.base_distances()


def read_splits(
    files: Mapping[str, Path], options: CrystalOptions, seed: int, shares: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Return the rows of the structures in a file for each split; an id that is not unique gets its split as a prefix.

    If there are `shares`, the file for training is split in these.
    """
    frame = pd.concat([read_structures(path).assign(split=split) for split, path in files.items()], ignore_index=True)
    shared = frame["id"].duplicated(keep=False)
    frame = frame.assign(id=frame["id"].where(~shared, frame["split"] + "/" + frame["id"]))
    if shares:
        own = frame["split"] == "train"
        frame = pd.concat([split_at_random(frame[own], seed, shares), frame[~own]])
    return rows_of(frame, options, seed)


def split_at_random(frame: pd.DataFrame, seed: int, shares: Mapping[str, float]) -> pd.DataFrame:
    """Return the frame with a split for every row, in the given shares, drawn with a seed."""
    order = np.random.default_rng(derive_seed(seed, "split")).permutation(len(frame))
    ends = np.rint(np.cumsum(list(shares.values())) / sum(shares.values()) * len(frame)).astype(int)
    splits = np.empty(len(frame), dtype=object)
    for split, begin, end in zip(shares, [0, *ends[:-1]], ends, strict=True):
        splits[order[begin:end]] = split
    return frame.assign(split=splits)


def rows_of(frame: pd.DataFrame, options: CrystalOptions, seed: int) -> pd.DataFrame:
    """Return the structures as they are used, Niggli-reduced, with a reason for each rejected one; print a summary.

    If a split is limited, its structures are taken in a random order until enough of them can be used. Those that were
    rejected on the way are listed, and the rest is left out.
    """
    rows = [row for split in SPLITS for row in _taken(records_of(frame[frame["split"] == split]), split, options, seed)]
    taken = frame_of(rows, COLUMNS | {"split": "str", "niggli": "bool"})
    for split in SPLITS:
        chosen = taken[taken["split"] == split]
        rejected = int((chosen["reason"] != "").sum())
        print(f"{split}: {len(chosen) - rejected} structures, {rejected} rejected")
        print("".join(f"  {line}\n" for line in summary_of(chosen)), end="", flush=True)
    return taken


def tokens_of(name: str, rows: pd.DataFrame, options: CrystalOptions) -> TokenData:
    """Return the tokens of the rows that can be used."""
    splits: dict[str, Any] = {}
    for split in SPLITS:
        chosen = rows[rows["split"] == split]
        crystals = [crystal_of(row) for row in records_of(chosen[chosen["reason"] == ""])]
        if not crystals:
            rejected = f"{len(chosen)} structures, all of them rejected" if len(chosen) else "no structures at all"
            why = "".join(f"\n  {line}" for line in summary_of(chosen))
            raise KinoflowError(f"{name}: nothing in the split {split!r}: {rejected}; give more or other data{why}")
        encode = partial(crystal_tokens.encode, rounding=options.rounding, max_atoms=options.max_atoms)
        splits[split] = torch.from_numpy(np.stack([encode(crystal) for crystal in crystals if crystal]))
    origin = {"name": name} | options.model_dump()
    return TokenData(**splits, vocabulary=vocabulary(options), origin=origin, distances=distances(options))


def _taken(records: list[Row], split: str, options: CrystalOptions, seed: int) -> list[Row]:
    """Return the rows of one split in their order."""
    limit, order, taken = getattr(options, split), np.arange(len(records)), dict[int, Row]()
    if limit is not None:
        np.random.default_rng(derive_seed(seed, "limit", split)).shuffle(order)
    usable, enough = 0, len(records) if limit is None else min(limit, len(records))
    with Progress(f"cells of {split}", max(enough, 1), unit="structure") as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from pymatgen
        for place in order.tolist():
            if usable == enough:
                break
            taken[place] = _row(records[place], options)
            usable += taken[place]["reason"] == ""
            progress.advance(usable if limit is not None else len(taken))
    return [taken[place] for place in sorted(taken)]


def _row(record: Row, options: CrystalOptions) -> Row:
    """Return the row of a structure, in its Niggli cell, rejected if it cannot be written as tokens."""
    crystal = crystal_of(record)
    if record["reason"] or crystal is None:
        return record | {"niggli": False}
    reduced, reason = None, ""
    if options.niggli and len(crystal.numbers) <= options.max_atoms:
        with suppress(ValueError):  # the reduction finds no Niggli cell: the cell is kept as it is
            reduced = Crystal.of(crystal.id, crystal.structure().get_reduced_structure("niggli"))
    crystal = reduced or crystal
    try:
        crystal_tokens.encode(crystal, options.rounding, options.max_atoms)
    except crystal_tokens.EncodingError as error:
        reason = error.reason
    return record | row_of(crystal) | {"reason": reason, "niggli": reduced is not None}
