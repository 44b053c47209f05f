"""Reference samples: those of a perfect model, and those of a model that knows no dependence between tokens."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from pipeline.config.plugins import DATASETS
from pipeline.sampling.layouts import draw_layouts
from pipeline.tokens.token_data import TokenData


def held_out(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return `count` sequences of the test split, or all if it has fewer; the n in the table shows it."""
    return data.test[:count]


def independent_columns(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return sequences whose positions are drawn independently from the training split.

    Only the kinds of the positions (the number of atoms of a crystal) come from one training sequence, so that a
    sequence is well-formed.
    """
    if data.vocabulary.kinds == 1:
        rows = torch.randint(len(data.train), (count, data.length), generator=generator)
        return data.train[rows, torch.arange(data.length)]
    kinds, train = draw_layouts(data, count, generator), data.train.long()
    train_kinds, drawn = data.vocabulary.kinds_of(train), torch.empty_like(kinds)
    for place in range(data.length):
        for kind in kinds[:, place].unique():
            here, pool = kinds[:, place] == kind, train[train_kinds[:, place] == kind, place]
            drawn[here, place] = pool[torch.randint(len(pool), (int(here.sum()),), generator=generator)]
    return drawn


def shuffled_columns(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return the same after shuffling the training data without changing their meaning: the order of atoms is lost."""
    shuffled = DATASETS.load(data.origin["name"]).shuffle(data.train.long(), generator)
    return independent_columns(replace(data, train=shuffled), count, generator)


def no_tokens(data: TokenData, count: int, generator: torch.Generator) -> Tensor:
    """Return no tokens for each of the first held-out images: codes would lose detail, so pictures show them."""
    return torch.empty(min(count, len(data.test)), 0, dtype=torch.int64)


DRAW: dict[str, Callable[[TokenData, int, torch.Generator], Tensor]] = {
    "images": no_tokens,
    "data": held_out,
    "independent": independent_columns,
    "shuffled": shuffled_columns,
}
