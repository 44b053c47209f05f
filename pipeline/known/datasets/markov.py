"""A stationary Markov chain: each token depends on the one before; the entropy of a sequence is known exactly."""

from pathlib import Path
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from pipeline.known.chain import Chains
from pipeline.known.random_chains import ChainOptions, dirichlet, length, stationary_of, vocabulary
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import SPLITS, TokenData

__all__ = ["Options", "chain", "entropy", "length", "prepare", "stationary", "transitions", "vocabulary"]


class Options(ChainOptions):
    """The chain and how many sequences are drawn from it."""

    states: int = Field(32, ge=2, le=1024, description="number of states, each of which is a token")
    concentration: float = Field(
        0.1, gt=0, description="of the Dirichlet distribution of the transitions; small: few states follow each one"
    )


def transitions(options: Options) -> Tensor:
    """Return P(y | x) in row x, float64[states, states]; rows are drawn from a symmetric Dirichlet distribution."""
    generator = torch.Generator().manual_seed(derive_seed(options.chain_seed, "markov", "chain"))
    return dirichlet((options.states, options.states), options.concentration, generator)


def stationary(options: Options) -> Tensor:
    """Return the distribution of the token at any position: pi with pi P = pi, float64[states]."""
    return stationary_of(transitions(options), options.concentration, options.chain_seed)


def chain(options: Options) -> Chains:
    """Return the chain; nothing of it is hidden."""
    emissions = torch.eye(options.states, dtype=torch.float64)
    return Chains(stationary(options)[None], transitions(options)[None], emissions[None])


def entropy(options: Options) -> float:
    """Return the entropy of a sequence in nats, H(pi) + (length - 1) sum_x pi(x) H(P(. | x))."""
    pi, matrix = stationary(options), transitions(options)
    per_row = torch.special.entr(matrix).sum(-1)
    return float(torch.special.entr(pi).sum() + (options.length - 1) * (pi * per_row).sum())


def prepare(options: Options, seed: int, cache: Path) -> TokenData:
    """Draw the splits; no file of `cache` is needed."""
    pi, matrix = stationary(options), transitions(options)
    splits: dict[str, Any] = {}
    for split in SPLITS:
        generator = torch.Generator().manual_seed(derive_seed(seed, "markov", split))
        tokens = torch.empty(getattr(options, split), options.length, dtype=torch.int64)
        tokens[:, 0] = torch.multinomial(pi, len(tokens), replacement=True, generator=generator)
        for place in range(1, options.length):
            tokens[:, place] = torch.multinomial(matrix[tokens[:, place - 1]], 1, generator=generator)[:, 0]
        splits[split] = tokens
    origin = {"name": "markov"} | options.model_dump()
    return TokenData(**splits, vocabulary=vocabulary(options), origin=origin)
