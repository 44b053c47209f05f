"""A stationary hidden Markov chain: each token is a noisy reading of a state that nobody sees."""

from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from pipeline.config import Strict
from pipeline.flow.vocabulary import Vocabulary
from pipeline.known.chain import Chains
from pipeline.known.random_chains import dirichlet, stationary_of
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import SPLITS, TokenData


class Options(Strict):
    """The chain and how many sequences are drawn from it."""

    hidden: int = Field(8, ge=2, description="number of hidden states")
    states: int = Field(16, ge=2, description="number of tokens")
    length: int = Field(32, ge=1, description="tokens in a sequence")
    concentration: float = Field(
        0.3, gt=0, description="of the Dirichlet distribution of transitions and tokens; small: few follow each state"
    )
    chain_seed: int = Field(0, ge=0, description="seed of the chain; the same chain whatever the other seeds")
    train: int = Field(20000, ge=1, description="sequences to train on")
    validation: int = Field(1000, ge=1, description="sequences for the validation loss")
    test: int = Field(2000, ge=1, description="sequences for likelihoods and for the reference row of the data")


def vocabulary(options: Options) -> Vocabulary:
    """Return the tokens, and a mask."""
    return Vocabulary.single(options.states, specials=1)


def length(options: Options) -> int:
    """Return the number of tokens in a sequence."""
    return options.length


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
