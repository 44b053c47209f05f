"""Mixture paths: mass moves from a source straight to x1. The source is a mask, uniform, or from token statistics."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pipeline.flow import sources
from pipeline.flow.categorical import uniform
from pipeline.flow.checks import check_distribution
from pipeline.flow.closed_forms import mixture
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.schedulers import SCHEDULERS, Scheduler, kinetic_optimal
from pipeline.flow.state import State, at
from pipeline.flow.vocabulary import NEVER_DATA, Places, Vocabulary


class MixturePath(Path):
    """p_t(x | x1) = (1 - kappa_t(x1)) p(x) + kappa_t(x1) delta_x1(x). The clock is s = -log(1 - kappa_t(x1)).

    >>> source = torch.tensor([[0.5, 0.3, 0.2]])  # one row for each kind of position
    >>> path = MixturePath(Vocabulary.single(3), source, scheduler="linear")
    >>> path.log_prob(torch.tensor([2]), torch.tensor([0.5], dtype=torch.float64)).exp()
    tensor([[0.2500, 0.1500, 0.6000]], dtype=torch.float64)
    """

    closed_forms = mixture.CLOSED_FORMS

    def __init__(self, vocabulary: Vocabulary, source: Tensor, scheduler: str | Scheduler) -> None:
        super().__init__(vocabulary)
        if source.shape != (vocabulary.kinds, vocabulary.size):
            shape = (vocabulary.kinds, vocabulary.size)
            raise FlowError(f"source: one row per kind, {shape} in all, expected; got {tuple(source.shape)}")
        check_distribution(source, "source")
        source = source.double() / source.double().sum(-1, keepdim=True)
        kind_of = vocabulary.kind_of.values
        own = torch.where(kind_of == NEVER_DATA, 0.0, source[kind_of.clamp(min=0), torch.arange(vocabulary.size)])
        moves = (kind_of != NEVER_DATA) & (own < 1)  # tokens whose path is not constant; only their kappa matters
        if not bool(moves.any()):
            raise FlowError("source: it is the data already; every kind of position has one token only")
        self.scheduler = scheduler if isinstance(scheduler, Scheduler) else SCHEDULERS.get(scheduler)(own, moves)
        self.source_prob = Table(source)
        alone = vocabulary.targets(torch.arange(vocabulary.kinds)).sum(-1)[kind_of.clamp(min=0)] == 1
        seen = (own == 0) | (kind_of == NEVER_DATA) | alone
        self.needs_time = not bool(seen.all())  # p(x1) = 0 throughout: x_t alone shows which tokens are x1

    def clock(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.scheduler.clock(t, x1)

    def clock_rate(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.scheduler.rate(t, x1)

    def increment(self, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
        """Return h kappa'/(1 - kappa) at t, as in the paper's first-order steps. The exact step uses the clock."""
        return (t_next - t) * self.clock_rate(x1, t)

    def source(self, kinds: Tensor) -> Tensor:
        return self.source_prob.on(kinds.device)[kinds].log()

    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return log of (1 - kappa) p(x) + kappa delta_x1(x) (e:mixture_token_dependent)."""
        clock = self.clock(x1, t)[..., None]
        log_kappa = torch.log(-torch.expm1(-clock))
        from_source = self.source(self.vocabulary.kinds_of(x1)) - clock
        return from_source.scatter(-1, x1[..., None], torch.logaddexp(at(from_source, x1), log_kappa))

    def state(self, x1: Tensor, t: Tensor) -> State:
        """Return p and its derivatives: dp/ds = (1 - kappa) (delta_x1 - p), dlog p/ds = -1 away from x1."""
        log_prob, rest = self.log_prob(x1, t), torch.exp(-self.clock(x1, t))[..., None]
        source = self.source_prob.on(x1.device)[self.vocabulary.kinds_of(x1)]
        gain = rest * (1 - at(source, x1))
        prob_dot = (-rest * source).scatter(-1, x1[..., None], gain)
        log_gain = gain * torch.exp(-at(log_prob, x1).clamp(min=-500))  # finite even at the smallest t above 0
        log_prob_dot = (-torch.ones_like(source)).scatter(-1, x1[..., None], log_gain)
        return State(log_prob, prob_dot, torch.where(log_prob > -torch.inf, log_prob_dot, 0.0))

    def absorbed(self, z: Tensor, kinds: Tensor) -> Tensor:
        """Return where the source gives z no mass, so that z has already reached x1."""
        return self.source_prob.on(z.device)[kinds, z] == 0

    def prob_of_x1(self, x1: Tensor, t: Tensor) -> Tensor:
        return mixture.mass_at_x1(self, x1, t)

    def tokens_at(self, x1: Tensor, t: Tensor, uniforms: Tensor, of_kinds: Sequence[Places] | None = None) -> Tensor:
        """Return the token of p_t(. | x1) for each uniform number, all [N], without rows of probabilities."""
        kappa = self.scheduler.kappa(t, x1)
        rest = ((uniforms - kappa) / (1 - kappa).clamp(min=1e-300)).clamp(min=0, max=1 - 2**-53)
        return torch.where(uniforms < kappa, x1, self.draw_source(self.vocabulary.kinds_of(x1), rest))

    def sample(
        self, x1: Tensor, t: Tensor, generator: torch.Generator, of_kinds: Sequence[Places] | None = None
    ) -> Tensor:
        x1, t = self.aligned(x1, t)
        arrived = uniform(x1.shape, generator, x1.device) < self.scheduler.kappa(t, x1)
        return torch.where(arrived, x1, self.sample_source(self.vocabulary.kinds_of(x1), generator))


@PATHS.register("mask")
def mask_path(vocabulary: Vocabulary, *, scheduler: str = "linear") -> Path:
    """Return the mixture of the mask token and x1.

    >>> path = build_path("mask", Vocabulary.single(4, specials=1), scheduler="cubic")  # token 4 is the mask
    >>> path.sample(torch.tensor([[0, 1, 2, 3]]), torch.tensor([0.8]), torch.Generator().manual_seed(0))
    tensor([[4, 4, 2, 4]])
    """
    return MixturePath(vocabulary, sources.mask(vocabulary), scheduler)


@PATHS.register("uniform")
def uniform_path(vocabulary: Vocabulary, *, scheduler: str = kinetic_optimal.__name__) -> Path:
    """Return the mixture of the uniform distribution and x1.

    >>> path = build_path("uniform", Vocabulary.single(4), scheduler="linear")
    >>> path.log_prob(torch.tensor([0]), torch.tensor([0.6], dtype=torch.float64)).exp()
    tensor([[0.7000, 0.1000, 0.1000, 0.1000]], dtype=torch.float64)
    """
    return MixturePath(vocabulary, sources.uniform(vocabulary), scheduler)


def _zipf_counts(vocabulary: Vocabulary) -> dict[str, Any]:
    return {"counts": 1000 / (1 + torch.arange(vocabulary.size, dtype=torch.float64))}


@PATHS.register("statistics", example=_zipf_counts)
def statistics_path(
    vocabulary: Vocabulary,
    *,
    scheduler: str = kinetic_optimal.__name__,
    beta_0: float = -1.0,
    counts: Tensor | None = None,
    smoothing: float = 1.0,
) -> Path:
    """Return the mixture of the source softmax(-beta_0 log p_stats) and x1, with p_stats from the counts of all tokens.

    >>> path = build_path("statistics", Vocabulary.single(3), counts=torch.tensor([96, 1, 0]))
    >>> path.source(torch.tensor(0)).exp()
    tensor([0.9700, 0.0200, 0.0100], dtype=torch.float64)
    """
    if counts is None:
        raise FlowError("statistics: the path needs the counts of all tokens in the training data (option counts)")
    return MixturePath(vocabulary, sources.token_statistics(vocabulary, counts, beta_0, smoothing), scheduler)
