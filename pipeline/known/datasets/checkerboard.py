"""A checkerboard in the plane: two tokens, uniform over the black squares; the distribution is known exactly."""

from pathlib import Path
from typing import Any

import torch
from pydantic import Field, model_validator
from torch import Tensor

from pipeline.config import Strict
from pipeline.flow.vocabulary import Vocabulary
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import SPLITS, TokenData


class Options(Strict):
    """The board and how many points are drawn from it."""

    levels: int = Field(64, ge=2, le=4096, description="values of each coordinate")
    squares: int = Field(4, ge=2, description="squares along each side")
    train: int = Field(50000, ge=1, description="points to train on")
    validation: int = Field(2000, ge=1, description="points for the validation loss")
    test: int = Field(10000, ge=1, description="points for likelihoods and for the reference row of the data")

    @model_validator(mode="after")
    def _squares_of_equal_size(self) -> "Options":
        if self.levels % self.squares:
            raise ValueError(f"levels ({self.levels}) must be a multiple of squares ({self.squares})")
        return self


def vocabulary(options: Options) -> Vocabulary:
    """Return one token for each level, and a mask."""
    return Vocabulary.single(options.levels, specials=1)


def length(options: Options) -> int:
    """Return the number of tokens in a sequence: two coordinates."""
    return 2


def probabilities(options: Options) -> Tensor:
    """Return q(x, y) for all pairs of levels, float64[levels, levels]."""
    square = torch.arange(options.levels) // (options.levels // options.squares)
    black = (square[:, None] + square[None, :]) % 2 == 0
    return black.double() / black.sum()


def prepare(options: Options, seed: int, cache: Path) -> TokenData:
    """Draw the splits; no file of `cache` is needed."""
    board = probabilities(options).flatten()
    splits: dict[str, Any] = {}
    for split in SPLITS:
        generator = torch.Generator().manual_seed(derive_seed(seed, "checkerboard", split))
        cells = torch.multinomial(board, getattr(options, split), replacement=True, generator=generator)
        splits[split] = torch.stack([cells // options.levels, cells % options.levels], dim=1)
    origin = {"name": "checkerboard"} | options.model_dump()
    return TokenData(**splits, vocabulary=vocabulary(options), origin=origin)
