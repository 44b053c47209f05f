"""What data sets of random chains share: options, random transitions, and what these leave unchanged."""

import torch
from pydantic import Field
from torch import Tensor

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary


class ChainOptions(Strict):
    """Which of the random chains, and how many sequences are drawn from it."""

    states: int
    length: int = Field(32, ge=1, le=10**6, description="tokens in a sequence")
    chain_seed: int = Field(0, ge=0, description="seed of the chain; the same chain whatever the other seeds")
    train: int = Field(20000, ge=1, description="sequences to train on")
    validation: int = Field(1000, ge=1, description="sequences for the validation loss")
    test: int = Field(2000, ge=1, description="sequences for likelihoods and for the reference row of the data")


def vocabulary(options: ChainOptions) -> Vocabulary:
    """Return the tokens, and a mask."""
    return Vocabulary.single(options.states, specials=1)


def length(options: ChainOptions) -> int:
    """Return the number of tokens in a sequence."""
    return options.length


def dirichlet(shape: tuple[int, int], concentration: float, generator: torch.Generator) -> Tensor:
    """Return rows from a symmetric Dirichlet distribution, float64."""
    shapes = torch.full(shape, concentration, dtype=torch.float64)
    # The softmax of log G for G ~ Gamma(shape, 1); in logarithms, as G itself underflows for small shapes.
    # G(a) = G(a + 1) U^(1/a), and G(a + 1) has no mass near zero.
    uniform = torch.rand(shapes.shape, dtype=torch.float64, generator=generator).clamp(min=1e-300)
    return (torch._standard_gamma(shapes + 1, generator).log() + uniform.log() / shapes).softmax(-1)


def stationary_of(matrix: Tensor, concentration: float, seed: int) -> Tensor:
    """Return pi with pi P = pi for transitions P [S, S]; the other arguments are for the error if there are several."""
    states = len(matrix)
    # (P - 1)^T pi = 0 has rank `states` - 1; one more equation makes pi add up to one.
    equations = torch.cat([(matrix - torch.eye(states, dtype=torch.float64)).T, torch.ones_like(matrix[:1])])
    wanted = torch.zeros(states + 1, 1, dtype=torch.float64)
    wanted[-1] = 1
    pi = torch.linalg.lstsq(equations, wanted, driver="gelsd").solution[:, 0].clamp(min=0)
    pi = pi / pi.sum()
    if not torch.allclose(pi @ matrix, pi, atol=1e-9):
        what = f"the chain of {states} states falls apart (chain_seed = {seed})"
        raise KinoflowError(f"concentration = {concentration}: {what}; raise it, or give another chain_seed")
    return pi
