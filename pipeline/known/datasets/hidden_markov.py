"""A stationary hidden Markov chain: each token is a noisy reading of a state that nobody sees."""

from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from pipeline.known.chain import Chains
from pipeline.known.random_chains import ChainOptions, dirichlet, length, stationary_of, vocabulary
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import SPLITS, TokenData

__all__ = ["Options", "chain", "length", "prepare", "vocabulary"]


class Options(ChainOptions):
    """The chain and how many sequences are drawn from it."""

    hidden: int = Field(8, ge=2, le=1024, description="number of hidden states")
    states: int = Field(16, ge=2, le=1024, description="number of tokens")
    concentration: float = Field(
        0.3, gt=0, description="of the Dirichlet distribution of transitions and tokens; small: few follow each state"
    )


def chain(options: Options) -> Chains:
    """Return the chain."""
    generator = torch.Generator().manual_seed(derive_seed(options.chain_seed, "hidden_markov", "chain"))
    matrix = dirichlet((options.hidden, options.hidden), options.concentration, generator)
    emissions = dirichlet((options.hidden, options.states), options.concentration, generator)
    start = stationary_of(matrix, options.concentration, options.chain_seed)
    return Chains(start[None], matrix[None], emissions[None])


def prepare(options: Options, seed: int, cache: Path) -> TokenData:
    """Draw the splits; no file of `cache` is needed."""
    splits: dict[str, Any] = {}
    for split in SPLITS:
        generator = torch.Generator().manual_seed(derive_seed(seed, "hidden_markov", split))
        labels = torch.zeros(getattr(options, split), dtype=torch.int64)
        splits[split] = chain(options).sample(labels, options.length, generator)
    origin = {"name": "hidden_markov"} | options.model_dump()
    return TokenData(**splits, vocabulary=vocabulary(options), origin=origin)
