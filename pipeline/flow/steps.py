"""Steps from t to t + h: the probability that a token jumps, given the rate of its jump."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from pipeline.flow.categorical import uniform
from pipeline.flow.correctors import Corrector
from pipeline.flow.jumps import Jump, jumped, one_jump
from pipeline.flow.paths.base import Path
from pipeline.flow.rates import rates_of
from pipeline.flow.registry import Registry
from pipeline.flow.velocities import Velocity
from pipeline.flow.velocities.net_rates import advancing
from pipeline.flow.vocabulary import Places

STEPS: Registry = Registry("step")

Pair = tuple[Tensor, Tensor]  # two uniform numbers for each token [N]
Move = Callable[["Transition", Tensor, Tensor, float, float, Pair], Tensor]


@STEPS.register("euler")
def euler(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability h lambda of a jump, at most 1, with h lambda by the increment of the path.

    The increment is h kappa'/(1 - kappa) at t on mixtures, and beta_{t+h} - beta_t on metric paths. The second is
    closer to the path than h beta', see `paper_euler`.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> x1, t = torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)
    >>> euler(path, torch.tensor([1.0]), x1, t, t + 0.25)
    tensor([0.5000], dtype=torch.float64)
    """
    return (rate * path.increment(x1, t, t_next)).clamp(max=1)


@STEPS.register("always_valid")
def always_valid(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability 1 - exp(-h lambda) of a jump, valid for any h, with h lambda as in `euler`.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> x1, t = torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)
    >>> always_valid(path, torch.tensor([1.0]), x1, t, t + 0.25)
    tensor([0.3935], dtype=torch.float64)
    """
    return -torch.expm1(-rate * path.increment(x1, t, t_next))


@STEPS.register("paper_euler")
def paper_euler(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability h lambda of a jump, at most 1, with the rate lambda at t on every path (e:euler).

    >>> path = build_path("metric", Vocabulary.single(2), lp=1, a=2, c=1)  # beta = (t / (1 - t))^2, beta' = 8 at 1/2
    >>> x1, t = torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)
    >>> paper_euler(path, torch.tensor([1.0]), x1, t, t + 0.05), euler(path, torch.tensor([1.0]), x1, t, t + 0.05)
    (tensor([0.4000], dtype=torch.float64), tensor([0.4938], dtype=torch.float64))
    """
    return _at_start(path, rate, x1, t, t_next).clamp(max=1)


@STEPS.register("paper_always_valid")
def paper_always_valid(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability 1 - exp(-h lambda) of a jump, with the rate lambda at t (app:always_valid).

    This is the step of the paper's own sampler. On mixtures it is `always_valid`. On metric paths it takes
    h beta' for beta_{t+h} - beta_t.

    >>> path = build_path("metric", Vocabulary.single(2), lp=1, a=2, c=1)
    >>> x1, t = torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)
    >>> paper_always_valid(path, torch.tensor([1.0]), x1, t, t + 0.05)
    tensor([0.3297], dtype=torch.float64)
    """
    return -torch.expm1(-_at_start(path, rate, x1, t, t_next))


def _at_start(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return h lambda with the rate at t; 0 stays 0 where the clock is infinitely fast, at t = 0 for a < 1."""
    return torch.where(rate > 0, rate * ((t_next - t) * path.clock_rate(x1, t)), 0.0)


@STEPS.register("exact")
def exact(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability 1 - exp(-(s(t + h) - s(t)) lambda) of a jump, with lambda per unit of the clock s.

    For the kinetic-optimal velocity of a mixture this is 1 - (1 - kappa_{t+h}) / (1 - kappa_t), exact for any h.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))  # kappa = t
    >>> x1, t = torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)
    >>> exact(path, torch.tensor([1.0]), x1, t, t + 0.25)  # half of the tokens that are still masked
    tensor([0.5000], dtype=torch.float64)
    """
    return -torch.expm1(-rate * (path.clock(x1, t_next) - path.clock(x1, t)))


@dataclass(frozen=True)
class Transition:
    """The kernel of a sampler given x1: a velocity on a path, a kind of step, and perhaps a corrector.

    A corrector has a step of its own, at t + h and given the same x1. It leaves p_{t+h} unchanged, so the two steps
    together are never farther from the path than the first alone.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> kernel = Transition(path, VELOCITIES.get("kinetic_optimal"), step="exact")
    >>> x1, z, t = torch.tensor([0]), torch.tensor([2]), torch.tensor([0.5], dtype=torch.float64)
    >>> kernel.probabilities(x1, z, t, t + 0.25)  # P(x_{t+h} | x_t = z, x1)
    tensor([[0.5000, 0.0000, 0.5000]], dtype=torch.float64)
    """

    path: Path
    velocity: Velocity
    step: str = "exact"
    corrector: Corrector | None = None

    def advance(
        self,
        z: Tensor,
        x1: Tensor,
        t: float,
        t_next: float,
        generator: torch.Generator,
        of_kinds: Sequence[Places] | None = None,
    ) -> Tensor:
        """Draw x at t_next given z at t and x1; at t_next = 1 it is x1.

        `of_kinds` says where each kind is among the flattened tokens (see `Vocabulary.places`). A loop over one layout
        gives it, so as not to wait for the device.
        """
        if t_next == 1:
            return x1
        shape, z, x1 = z.shape, z.flatten(), x1.flatten()
        places = None if self.path.parts is None else of_kinds or self.path.vocabulary.places_of(x1)
        for move in (Transition._predict, Transition._correct)[: 1 if self.corrector is None else 2]:
            numbers = uniform(z.shape, generator, z.device), uniform(z.shape, generator, z.device)
            z = self._in_parts(move, z, x1, t, t_next, numbers, places)
        return z.view(shape)

    def _in_parts(
        self,
        move: Move,
        z: Tensor,
        x1: Tensor,
        t: float,
        t_next: float,
        numbers: Pair,
        of_kinds: Sequence[Places] | None,
    ) -> Tensor:
        """Return where tokens z [N] are after a move; it sees those of one kind at a time if the path has parts."""
        if self.path.parts is None or of_kinds is None:
            return move(self, z, x1, t, t_next, numbers)
        moved = z.clone()
        for part, here in zip(self.path.parts, of_kinds, strict=True):
            of_part, inside = replace(self, path=part.path), part.inside(z[here])
            of_tokens = numbers[0][here], numbers[1][here]
            arrived = move(of_part, inside.clamp(min=0), part.inside(x1[here]), t, t_next, of_tokens)
            moved[here] = torch.where(inside >= 0, part.outside(arrived), z[here])  # others have no way to x1
        return moved

    def _predict(self, z: Tensor, x1: Tensor, t: float, t_next: float, numbers: Pair) -> Tensor:
        """Return where tokens z [N] are after the step, given two uniform numbers for each: if it leaves, and where to.

        If the rates have a bound, only tokens that would leave at this rate go on to rows of rates.
        """
        rates, rule = rates_of(self.path, self.velocity), partial(STEPS.get(self.step), self.path)
        start, end = (torch.full((), time, dtype=torch.float64, device=z.device) for time in (t, t_next))

        def chance(rate: Tensor, x1: Tensor) -> Tensor:
            return rule(rate, x1, start.expand_as(x1), end.expand_as(x1))

        bound = rates.rate_bound(x1, z)
        most = None if bound is None else chance(bound, x1)
        return jumped(z, x1, numbers, most, rates.jump_size(), lambda x1, z: rates.jump(x1, z, start), chance)

    def _correct(self, z: Tensor, x1: Tensor, t: float, t_next: float, numbers: Pair) -> Tensor:
        """Return where tokens z [N] at t_next are after the corrector; a rate is here the probability of the step."""
        assert self.corrector is not None, "advance has looked"
        rates, corrector = rates_of(self.path, self.velocity), self.corrector
        start, end = (torch.full((), time, dtype=torch.float64, device=z.device) for time in (t, t_next))

        def jump(x1: Tensor, z: Tensor) -> Jump:
            correction = corrector.correction(self.path, x1, start.expand_as(x1), end.expand_as(x1))
            return rates.corrector_jump(x1, z, end, correction)

        costly = rates.rate_bound(x1[:0], z[:0]) is not None
        most = torch.full_like(numbers[0], corrector.limit) if costly else None
        return jumped(z, x1, numbers, most, rates.corrector_size(), jump, lambda rate, x1: rate)

    def probabilities(self, x1: Tensor, z: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
        """Return P(x_{t+h} = x | x_t = z, x1) for all x, [..., K]: the distribution that `advance` draws from."""
        lands = t_next == 1
        before_end = torch.where(lands, t, t_next)
        rates = advancing(rates_of(self.path, self.velocity).net(x1, z, t))
        kernel = one_jump(rates, STEPS.get(self.step)(self.path, rates.sum(-1), x1, t, before_end), z)
        if self.corrector is not None:
            kernel = (kernel[..., None, :] @ self._corrections(x1, t, before_end)).squeeze(-2)
        landed = torch.zeros_like(kernel).scatter(-1, x1[..., None], 1.0)
        return torch.where(lands[..., None], landed, kernel)

    def _corrections(self, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
        """Return the corrector's probabilities from every y to every x, [..., y, x]."""
        assert self.corrector is not None, "the caller has looked"
        size = self.path.vocabulary.size
        y = torch.arange(size, device=x1.device).expand(*x1.shape, size)
        x1, t, t_next = (values[..., None].expand_as(y) for values in (x1, t, t_next))
        correction = self.corrector.correction(self.path, x1, t, t_next)
        net_rates = rates_of(self.path, self.velocity).net(x1, y, t_next)
        rates = correction.rates(net_rates, self.path.log_prob(x1, t_next).exp())
        return one_jump(rates, rates.sum(-1), y)
