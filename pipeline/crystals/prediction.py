"""Structure prediction: the composition of a test structure is given, and cell and sites are to be found.

A network that was trained without any composition given predicts with the elements clamped while it samples. Beside it
stand two predictions that need no network: the test structures themselves, written as tokens (the best that a network
on these tokens could do), and random structures of the right composition and density.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pipeline.config import Sampling
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.likeliest import likeliest_first, log_likelihoods, mask_path
from pipeline.crystals.table import CRYSTAL_COLUMNS, Row, crystals_of, frame_of, rejected_row, row_of
from pipeline.crystals.templates import batch, from_structure
from pipeline.crystals.tokens import Decoded, decode, encode
from pipeline.networks.saved import SavedModel
from pipeline.sampling.blocks import draw_around, generators
from pipeline.store.parquet import read_table
from pipeline.store.progress import Progress
from pipeline.store.seeds import derive_seed
from pipeline.store.tensor_journal import TensorJournal
from pipeline.tokens.token_data import TokenData

COLUMNS = CRYSTAL_COLUMNS | {"target": "int64", "sample": "int64"}  # places of the target and of the structure, from 0


def structures_of(rows: Path, split: str) -> list[Crystal]:
    """Return the usable structures of a split of a data set, in their order."""
    frame = read_table(rows, [*CRYSTAL_COLUMNS, "split"])
    found = crystals_of(frame[(frame["split"] == split) & (frame["reason"] == "")])
    return [crystal for crystal in found if crystal is not None]


def targets_of(rows: Path, count: int, seed: int, split: str = "test") -> list[Crystal]:
    """Return up to `count` structures of a split, drawn without replacement, in their order."""
    known = structures_of(rows, split)
    chosen = np.random.default_rng(seed).permutation(len(known))[:count]
    return [known[place] for place in np.sort(chosen)]


def predict(
    model: SavedModel,
    data: TokenData,
    sampling: Sampling,
    targets: Sequence[Crystal],
    samples: int,
    seed: int,
    finished: TensorJournal | None = None,
    *,
    pick: str = "first",
) -> pd.DataFrame:
    """Return `samples` structures for the composition of each target, drawn by a network of any path.

    They come as they were drawn; to `pick` the likeliest, it is put before the others of its target.
    """
    if pick == "likeliest":
        mask_path(model)  # an error before any work
    max_atoms = data.origin["max_atoms"]
    templates = [from_structure(target, ["composition"], max_atoms=max_atoms) for target in targets]
    noised = model.path is not None and model.path.needs_time
    kinds, clamp = batch(templates, len(targets) * samples, noised=noised)
    drawn = draw_around(model, data, sampling, kinds, clamp, seed, finished=finished)
    if pick == "likeliest":
        drawn = drawn[likeliest_first(_log_likelihoods(model, drawn, clamp.fixed, sampling.block, seed), samples)]
    return frame_of_predictions(map(decode, drawn.numpy()), targets, samples)


def _log_likelihoods(model: SavedModel, drawn: Tensor, fixed: Tensor, block: int, seed: int) -> Tensor:
    device, found = next(model.network.parameters()).device, list[Tensor]()
    with Progress("likelihoods", len(drawn)) as progress:
        for number, rows in enumerate(torch.arange(len(drawn)).split(block)):
            _, generator = generators(derive_seed(seed, "likelihoods", number), device)
            found.append(log_likelihoods(model, drawn[rows].long().to(device), fixed[rows].to(device), generator).cpu())
            progress.advance(int(rows[-1]) + 1)
    return torch.cat(found)


def tokenised(data: TokenData, targets: Sequence[Crystal]) -> pd.DataFrame:
    """Return each target as its tokens tell it."""
    rounding, max_atoms = data.origin["rounding"], data.origin["max_atoms"]
    return frame_of_predictions((decode(encode(target, rounding, max_atoms)) for target in targets), targets, 1)


def random_structures(targets: Sequence[Crystal], train: Sequence[Crystal], samples: int, seed: int) -> pd.DataFrame:
    """Return `samples` random structures for the composition of each target.

    The cell is that of a random training structure, scaled to its volume per atom. So shapes and densities are those of
    the training set. The atoms are anywhere in it.
    """
    generator, drawn = np.random.default_rng(seed), []
    for target in targets:
        atoms = len(target.numbers)
        for cell in generator.integers(len(train), size=samples):
            lengths = train[cell].lengths * (atoms / len(train[cell].numbers)) ** (1 / 3)
            places = generator.random((atoms, 3))
            drawn.append(Decoded(Crystal("", lengths, train[cell].angles, target.numbers, places), ""))
    return frame_of_predictions(drawn, targets, samples)


def frame_of_predictions(drawn: Iterable[Decoded], targets: Sequence[Crystal], samples: int) -> pd.DataFrame:
    """Return one row per structure: `samples` for the first target, then those for the next."""
    rows: list[Row] = []
    for number, (crystal, reason) in enumerate(drawn):
        target, sample = divmod(number, samples)
        id = f"{targets[target].id}-{sample + 1:03d}"
        row = rejected_row(id, reason) if crystal is None else row_of(crystal, reason=reason)
        rows.append(row | {"id": id, "target": target, "sample": sample})
    return frame_of(rows, COLUMNS)
