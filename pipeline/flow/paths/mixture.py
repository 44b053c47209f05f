"""Mixture paths: mass moves from a source straight to x1; with a mask, uniform or statistical source."""

from typing import Any

import torch
from torch import Tensor

from pipeline.flow import sources
from pipeline.flow.categorical import uniform
from pipeline.flow.checks import check_distribution
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError
from pipeline.flow.jumps import Correction, Jump
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.schedulers import SCHEDULERS, Scheduler
from pipeline.flow.state import State, at
from pipeline.flow.velocities import Velocity
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import NEVER_DATA, Vocabulary


class MixturePath(Path):
    """p_t(x | x1) = (1 - kappa_t(x1)) p(x) + kappa_t(x1) delta_x1(x), by the clock s = -log(1 - kappa_t(x1))."""

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
        prob_x1 = self.prob_x1(x1, t)
        rate = torch.exp(-self.clock(x1, t)) / prob_x1.clamp(min=torch.finfo(torch.float64).tiny) * (prob_x1 > 0)
        back = (-rate[..., None] * source).scatter(-1, x1[..., None], 0.0)
        return torch.where((z == x1)[..., None], back, forth)

    def jump(self, velocity: Velocity, x1: Tensor, z: Tensor, t: Tensor, correction: Correction | None = None) -> Jump:
        if velocity is not kinetic_optimal:
            return super().jump(velocity, x1, z, t, correction)
        return MixtureJump(self, x1, z, t, correction)

    def jump_size(self, velocity: Velocity, corrected: bool = False) -> int:
        return 1 if velocity is kinetic_optimal else self.vocabulary.size

    def absorbed(self, z: Tensor, kinds: Tensor) -> Tensor:
        """Return where the source gives z no mass, so that z has already reached x1."""
        return self.source_prob.on(z.device)[kinds, z] == 0

    def sample(self, x1: Tensor, t: Tensor, generator: torch.Generator) -> Tensor:
        x1, t = self.aligned(x1, t)
        arrived = uniform(x1.shape, generator, x1.device) < self.scheduler.kappa(t, x1)
        return torch.where(arrived, x1, self.sample_source(self.vocabulary.kinds_of(x1), generator))

    def prob_x1(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return p_t(x1 | x1), accurate near t = 0."""
        clock = self.clock(x1, t)
        source_x1 = self.source_prob.on(x1.device)[self.vocabulary.kinds_of(x1), x1]
        return torch.exp(-clock) * source_x1 - torch.expm1(-clock)


class MixtureJump(Jump):
    """The kinetic-optimal jump of a mixture: to x1 at rate 1, and, with a corrector, from x1 back to the source.

    With Correction(w, L), the corrector's rates are min(w, L p_t(x1)) to x1, and (1 - kappa) p(x) min(w / p_t(x1), L)
    from x1 to x.
    """

    def __init__(
        self, path: MixturePath, x1: Tensor, z: Tensor, t: Tensor, correction: Correction | None = None
    ) -> None:
        self._path, self._x1, self._z, self._kinds = path, x1, z, path.vocabulary.kinds_of(x1)
        source = path.source_prob.on(x1.device)
        self._source_x1, self._corrected = source[self._kinds, x1], correction is not None
        self.rate = ((z != x1) & (source[self._kinds, z] > 0)).double()
        if correction is not None:
            prob_x1 = path.prob_x1(x1, t)
            weight, limit = correction.weight, correction.limit
            from_source = torch.exp(-path.clock(x1, t)) * (1 - self._source_x1)
            back = from_source * torch.minimum(weight / prob_x1.clamp(min=torch.finfo(torch.float64).tiny), limit)
            forth = self.rate * torch.minimum(weight, limit * prob_x1)
            self.rate = self.rate + torch.where(z == x1, back * (prob_x1 > 0), forth)

    def destination(self, uniforms: Tensor) -> Tensor:
        if not self._corrected:
            return self._x1
        running = self._path.source_running.on(uniforms.device)
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


def _zipf_counts(vocabulary: Vocabulary) -> dict[str, Any]:
    return {"counts": 1000 / (1 + torch.arange(vocabulary.size, dtype=torch.float64))}


@PATHS.register("statistics", example=_zipf_counts)
def statistics_path(
    vocabulary: Vocabulary,
    *,
    scheduler: str = "kinetic_optimal",
    beta_0: float = -1.0,
    counts: Tensor | None = None,
    smoothing: float = 1.0,
) -> Path:
    """Return the mixture of the source softmax(-beta_0 log p_stats) and x1, p_stats from the counts of all tokens."""
    if counts is None:
        raise FlowError("statistics: the path needs the counts of all tokens in the training data (option counts)")
    return MixturePath(vocabulary, sources.token_statistics(vocabulary, counts, beta_0, smoothing), scheduler)
