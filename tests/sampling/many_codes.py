"""Draw codes in two shards with a stand-in for a network, join them, and print the peak of memory in MB.

`python many_codes.py FOLDER COUNT LENGTH`
"""

import resource
import sys
from collections import deque
from pathlib import Path

import torch
from torch import Tensor, nn

from pipeline.config import LossChoice, ModelChoice, PathChoice, Sampling
from pipeline.flow.paths import build_path
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.saved import Description, SavedModel
from pipeline.sampling.blocks import blocks_of, draw_blocks
from pipeline.sampling.joining import join_samples
from pipeline.sampling.samples import write_blocks
from pipeline.store.tensor_journal import TensorJournal
from pipeline.tokens.token_data import TokenData

CODES, BLOCK, SHARDS = 3, 1000, 2


class Even(nn.Module):
    """A network that finds all codes equally likely."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(CODES + 1))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.logits.expand(*x.shape, -1)


def main(folder: Path, count: int, length: int) -> None:
    """Draw, join and measure."""
    vocabulary, rows = Vocabulary.single(CODES, specials=1), torch.zeros(1, length, dtype=torch.int64)
    data = TokenData(rows, rows, rows, vocabulary, {"name": "codes"})
    description = Description(
        run="even",
        model=ModelChoice(name="mlp"),
        path=PathChoice(name="mask"),
        loss=LossChoice(name="cross_entropy"),
        seed=0,
        length=length,
        vocabulary=data.vocabulary_hash,
    )
    model = SavedModel(Even(), build_path("mask", vocabulary, scheduler="linear"), description)
    sampling = Sampling(count=count, steps=1, block=BLOCK, frames=(1.0,))
    shards = []
    for shard in range(SHARDS):
        blocks = blocks_of(count, BLOCK, shard, SHARDS)
        journal = TensorJournal(folder / f"journal-{shard}", "codes")
        deque(draw_blocks(model, data, sampling, 0, blocks, journal), maxlen=0)
        shards.append(folder / f"{shard}")
        drawn = draw_blocks(model, data, sampling, 0, blocks, journal)
        shape = sum(len(sampling.numbers(block)) for block in blocks), length
        write_blocks(shards[-1], drawn, shape, {"run": "even", "n": count}, sampling.frames, labelled=False)
        journal.remove()
    join_samples(shards, folder / "all")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
