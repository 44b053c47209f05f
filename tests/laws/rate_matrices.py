"""Whole matrices of rates, for all x1 and z at once, and other helpers of the law tests."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.paths import Path
from pipeline.flow.rates import rates_of
from pipeline.flow.velocities import Velocity
from pipeline.flow.velocities.net_rates import advancing
from pipeline.flow.vocabulary import Vocabulary

SEVEN = Vocabulary.single(7)
VOCABULARIES = {
    "one kind": Vocabulary.single(7, specials=1),
    "kinds, pad, mask": Vocabulary([0, 0, 0, 0, 1, 1, 1, 2, -1]),
}


@dataclass(frozen=True)
class Matrices:
    """A path at a time for every x1: p and dp/ds [n, K], net rates [n, x, z] of a velocity."""

    prob: Tensor
    prob_dot: Tensor
    net_rates: Tensor
    log_prob: Tensor

    def representable(self) -> "Matrices":
        """Keep the rows where float64 can hold the mass of every state; an unsafe velocity divides by it."""
        held = ((self.log_prob > -300) | (self.log_prob == -torch.inf)).all(-1)
        return Matrices(self.prob[held], self.prob_dot[held], self.net_rates[held], self.log_prob[held])

    @property
    def rates(self) -> Tensor:
        """u(x, z) with its diagonal."""
        return with_diagonal(advancing(self.net_rates))

    @property
    def flux(self) -> Tensor:
        """j(x, z) = u(x, z) p(z), off the diagonal."""
        return advancing(self.net_rates) * self.prob[:, None, :]


def with_diagonal(rates: Tensor) -> Tensor:
    """Return the rates with u(z, z) = -sum over x of u(x, z)."""
    return rates - torch.diag_embed(rates.sum(-2))


def data_tokens(vocabulary: Vocabulary) -> Tensor:
    """Return the tokens that can be data."""
    return (vocabulary.kind_of.values >= 0).nonzero().squeeze(-1)


def all_targets(path: Path, times: Sequence[float]) -> tuple[Tensor, Tensor]:
    """Return every data token x1 at every time, two tensors of one length."""
    tokens = data_tokens(path.vocabulary)
    x1 = tokens.repeat(len(times))
    return x1, torch.tensor(times, dtype=torch.float64).repeat_interleave(len(tokens))


def matrices(path: Path, velocity: Velocity, times: Sequence[float]) -> Matrices:
    """Return the matrices for all x1 at all times, built from the rows of all z."""
    x1, times = all_targets(path, times)
    state, size = path.state(x1, times), path.vocabulary.size
    shape = (len(x1), size)
    rows = rates_of(path, velocity).net(
        x1[:, None].expand(shape), torch.arange(size).expand(shape), times[:, None].expand(shape)
    )
    return Matrices(state.prob, state.prob_dot, rows.transpose(1, 2), state.log_prob)


def random_source(seed: int, vocabulary: Vocabulary = SEVEN, zeros: int = 0) -> Tensor:
    """Return a random source without mass on the first `zeros` tokens, [1, K]."""
    source = torch.rand(1, vocabulary.size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    source[:, :zeros] = 0
    return source / source.sum(-1, keepdim=True)


def outer(tau: Tensor) -> Tensor:
    """Return tau(x) tau(z), [..., K, K]."""
    return tau[..., None] * tau[..., None, :]
