"""A stationary Markov chain: each token depends on the one before; the entropy of a sequence is known exactly."""

from pathlib import Path
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import SPLITS, TokenData


class Options(Strict):
    """The chain and how many sequences are drawn from it."""

    states: int = Field(32, ge=2, description="number of states, each of which is a token")
    length: int = Field(32, ge=1, description="tokens in a sequence")
    concentration: float = Field(
        0.1, gt=0, description="of the Dirichlet distribution of the transitions; small: few states follow each one"
    )
    chain_seed: int = Field(0, ge=0, description="seed of the transitions; the same chain whatever the other seeds")
    train: int = Field(20000, ge=1, description="sequences to train on")
    validation: int = Field(1000, ge=1, description="sequences for the validation loss")
    test: int = Field(2000, ge=1, description="sequences for likelihoods and for the reference row of the data")


def vocabulary(options: Options) -> Vocabulary:
    """Return one token for each state, and a mask."""
    return Vocabulary.single(options.states, specials=1)


def length(options: Options) -> int:
    """Return the number of tokens in a sequence."""
    return options.length


def transitions(options: Options) -> Tensor:
    """Return P(y | x) in row x, float64[states, states]; rows are drawn from a symmetric Dirichlet distribution."""
    generator = torch.Generator().manual_seed(derive_seed(options.chain_seed, "markov", "chain"))
    shape = torch.full((options.states, options.states), options.concentration, dtype=torch.float64)
    # The softmax of log G for G ~ Gamma(shape, 1); in logarithms, as G itself underflows for small shapes.
    # G(a) = G(a + 1) U^(1/a), and G(a + 1) has no mass near zero.
    uniform = torch.rand(shape.shape, dtype=torch.float64, generator=generator).clamp(min=1e-300)
    return (torch._standard_gamma(shape + 1, generator).log() + uniform.log() / shape).softmax(-1)


def stationary(options: Options) -> Tensor:
    """Return the distribution of the token at any position: pi with pi P = pi, float64[states]."""
    matrix = transitions(options)
    # (P - 1)^T pi = 0 has rank `states` - 1; one more equation makes pi add up to one.
    equations = torch.cat([(matrix - torch.eye(options.states, dtype=torch.float64)).T, torch.ones_like(matrix[:1])])
    wanted = torch.zeros(options.states + 1, 1, dtype=torch.float64)
    wanted[-1] = 1
    pi = torch.linalg.lstsq(equations, wanted, driver="gelsd").solution[:, 0].clamp(min=0)
    pi = pi / pi.sum()
    if not torch.allclose(pi @ matrix, pi, atol=1e-9):
        what = f"the chain of {options.states} states falls apart (chain_seed = {options.chain_seed})"
        raise KinoflowError(f"concentration = {options.concentration}: {what}; raise it, or give another chain_seed")
    return pi


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
