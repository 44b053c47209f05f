"""Mixture paths: mass moves from a source straight to x1; with a mask, uniform or statistical source."""

import torch
from torch import Tensor

from pipeline.flow import sources
from pipeline.flow.categorical import uniform
from pipeline.flow.checks import check_distribution
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError
from pipeline.flow.jumps import Jump, limited
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.schedulers import SCHEDULERS, Scheduler
from pipeline.flow.state import State, at
from pipeline.flow.velocities import Velocity, kinetic_optimal
from pipeline.flow.vocabulary import NEVER_DATA, Vocabulary


class MixturePath(Path):
    """p_t(x | x1) = (1 - kappa_t(x1)) p(x) + kappa_t(x1) delta_x1(x), by the clock s = -log(1 - kappa_t(x1))."""

    def __init__(self, vocabulary: Vocabulary, source: Tensor, scheduler: str | Scheduler) -> None:
        super().__init__(vocabulary)
        if source.shape != (vocabulary.kinds, vocabulary.size):
            shape = (vocabulary.kinds, vocabulary.size)
            raise FlowError(f"source: one row per kind, {shape} in all, expected; got {tuple(source.shape)}")
        check_distribution(source, "source")
        source = source.double()
        kind_of = vocabulary.kind_of.values
        own = torch.where(kind_of == NEVER_DATA, 0.0, source[kind_of.clamp(min=0), torch.arange(vocabulary.size)])
        moves = (kind_of != NEVER_DATA) & (own < 1)  # tokens whose path is not constant; only their kappa matters
        if not bool(moves.any()):
            raise FlowError("source: it is the data already; every kind of position has one token only")
        self.scheduler = scheduler if isinstance(scheduler, Scheduler) else SCHEDULERS.get(scheduler)(own, moves)
        self.source_prob, self._running = Table(source), Table(source.cumsum(-1))
        self.needs_time = not bool((own[moves] == 0).all())  # p(x1) = 0 throughout: x_t alone shows which tokens are x1

    def clock(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.scheduler.clock(t, x1)

    def clock_rate(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.scheduler.rate(t, x1)

    def increment(self, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
        """Return h kappa'/(1 - kappa) at t, as the paper's first-order steps have it; the exact step uses the clock."""
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

    def net_rates(self, velocity: Velocity, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        """Return the net rates; the kinetic-optimal ones are 1 from z to x1 (eq:neta_velocity_mixture), and back.

        The net flux back, which only correctors use, takes x1 to x at the rate -(1 - kappa) p(x) / p_t(x1).
        """
        if velocity is not kinetic_optimal:
            return super().net_rates(velocity, x1, z, t)
        kinds = self.vocabulary.kinds_of(x1)
        source = self.source_prob.on(x1.device)[kinds]
        forth = torch.zeros_like(source).scatter(-1, x1[..., None], 1.0) * (at(source, z) > 0)
        back = (-self._return_rate(x1, t, at(source, x1).squeeze(-1))[..., None] * source).scatter(-1, x1[..., None], 0)
        return torch.where((z == x1)[..., None], back, forth)

    def jump(
        self, velocity: Velocity, x1: Tensor, z: Tensor, t: Tensor, weight: float = 0.0, limit: Tensor | None = None
    ) -> Jump:
        if velocity is not kinetic_optimal:
            return super().jump(velocity, x1, z, t, weight, limit)
        return MixtureJump(self, x1, z, t, weight, limit)

    def absorbed(self, z: Tensor, kinds: Tensor) -> Tensor:
        """Return where the source gives z no mass, so that z has already reached x1."""
        return self.source_prob.on(z.device)[kinds, z] == 0

    def sample_source(self, kinds: Tensor, generator: torch.Generator) -> Tensor:
        return self.draw_source(kinds, uniform(kinds.shape, generator, kinds.device))

    def draw_source(self, kinds: Tensor, uniforms: Tensor) -> Tensor:
        """Return the source's token for each uniform number, without a row of K probabilities per token."""
        tokens = torch.empty_like(kinds)
        for kind, running in enumerate(self._running.on(kinds.device)):
            here = kinds == kind
            token = torch.searchsorted(running, uniforms[here] * running[-1], right=True)
            tokens[here] = torch.minimum(token, (running < running[-1]).sum())
        return tokens

    def sample(self, x1: Tensor, t: Tensor, generator: torch.Generator) -> Tensor:
        x1, t = self.aligned(x1, t)
        arrived = uniform(x1.shape, generator, x1.device) < self.scheduler.kappa(t, x1)
        return torch.where(arrived, x1, self.sample_source(self.vocabulary.kinds_of(x1), generator))

    def _return_rate(self, x1: Tensor, t: Tensor, source_x1: Tensor) -> Tensor:
        clock = self.clock(x1, t)
        prob_x1 = torch.exp(-clock) * source_x1 - torch.expm1(-clock)
        return torch.where(prob_x1 > 0, torch.exp(-clock) / prob_x1.clamp(min=torch.finfo(torch.float64).tiny), 0.0)


class MixtureJump(Jump):
    """The kinetic-optimal jump of a mixture: to x1 at rate 1, and, with a corrector, from x1 back to the source."""

    def __init__(
        self, path: MixturePath, x1: Tensor, z: Tensor, t: Tensor, weight: float = 0.0, limit: Tensor | None = None
    ) -> None:
        self._path, self._x1, self._z, self._kinds = path, x1, z, path.vocabulary.kinds_of(x1)
        source = path.source_prob.on(x1.device)
        self._source_x1 = source[self._kinds, x1]
        away = (z != x1) & (source[self._kinds, z] > 0)
        self.rate = away.double()
        if weight:
            back = path._return_rate(x1, t, self._source_x1) * (1 - self._source_x1)
            corrector = torch.where(z == x1, back, self.rate)
            self.rate = self.rate + limited(weight, corrector, limit) * corrector

    def destination(self, uniforms: Tensor) -> Tensor:
        running = self._path._running.on(uniforms.device)
        before = torch.where(self._x1 > 0, running[self._kinds, (self._x1 - 1).clamp(min=0)], 0.0)
        passed = uniforms * (1 - self._source_x1)  # a number in the source's mass with that of x1 cut out
        passed = passed + torch.where(passed >= before, self._source_x1, 0.0)
        return torch.where(self._z == self._x1, self._path.draw_source(self._kinds, passed), self._x1)


@PATHS.register("mask")
def mask_path(vocabulary: Vocabulary, *, scheduler: str = "linear") -> Path:
    """Return the mixture of the mask token and x1."""
    return MixturePath(vocabulary, sources.mask(vocabulary), scheduler)


@PATHS.register("uniform")
def uniform_path(vocabulary: Vocabulary, *, scheduler: str = "kinetic_optimal") -> Path:
    """Return the mixture of the uniform distribution and x1."""
    return MixturePath(vocabulary, sources.uniform(vocabulary), scheduler)


@PATHS.register("statistics")
def statistics_path(
    vocabulary: Vocabulary,
    *,
    scheduler: str = "kinetic_optimal",
    beta_0: float = -1.0,
    counts: Tensor | None = None,
    smoothing: float = 1.0,
) -> Path:
    """Return the mixture of the source softmax(-beta_0 log p_stats) and x1; without counts, those of Zipf's law."""
    if counts is None:
        counts = 1000 / (1 + torch.arange(vocabulary.size, dtype=torch.float64))
    return MixturePath(vocabulary, sources.token_statistics(vocabulary, counts, beta_0, smoothing), scheduler)
