"""Steps from t to t + h: the probability that a token jumps, given the rate of its jump."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from pipeline.flow import device
from pipeline.flow.categorical import uniform
from pipeline.flow.checks import check_positive
from pipeline.flow.chunks import small_chunks
from pipeline.flow.errors import FlowError
from pipeline.flow.jumps import EVERYWHERE, Correction, row_jump
from pipeline.flow.paths.base import Path
from pipeline.flow.rates import rates_of
from pipeline.flow.registry import Registry
from pipeline.flow.velocities import Velocity
from pipeline.flow.vocabulary import Places

STEPS: Registry = Registry("step")


@STEPS.register("euler")
def euler(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability h lambda of a jump, at most 1 (e:euler).

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> x1, t = torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)
    >>> euler(path, torch.tensor([1.0]), x1, t, t + 0.25)
    tensor([0.5000], dtype=torch.float64)
    """
    return (rate * path.increment(x1, t, t_next)).clamp(max=1)


@STEPS.register("always_valid")
def always_valid(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability 1 - exp(-h lambda) of a jump, valid for any h (app:always_valid).

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> x1, t = torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)
    >>> always_valid(path, torch.tensor([1.0]), x1, t, t + 0.25)
    tensor([0.3935], dtype=torch.float64)
    """
    return -torch.expm1(-rate * path.increment(x1, t, t_next))


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
class Corrector:
    """How much of the probability-preserving velocity is added: its weight w(t), and a limit on its jumps in one step.

    w(t) = weight * t^rise * (1 - t)^fall. Near t = 0 the corrector would send a token that has just left the source
    back at an unbounded rate, so its expected number of jumps in a step is at most `limit`. A corrector adds jumps and
    needs small steps. With few evaluations it makes samples worse; with many it repairs the errors of earlier steps.

    >>> path = build_path("uniform", Vocabulary.single(3))
    >>> model = ExactPosterior(path, torch.tensor([[0, 1], [2, 1]]), torch.tensor([0.5, 0.5]))
    >>> corrector, generator = Corrector(weight=1.0, fall=1.0), torch.Generator().manual_seed(0)
    >>> sample(model, path, shape=(3, 2), steps=100, corrector=corrector, generator=generator).tokens
    tensor([[0, 1],
            [2, 1],
            [2, 1]])
    """

    weight: float
    rise: float = 1.0
    fall: float = 0.0
    limit: float = 0.5

    def __post_init__(self) -> None:
        check_positive(self.limit, "corrector.limit")
        for name in ("weight", "rise", "fall"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise FlowError(f"corrector.{name}: must be finite and at least 0, got {getattr(self, name)}")

    def correction(self, t: Tensor, passed: Tensor) -> Correction:
        """Return the correction for a step from t that advances the clock by `passed`, both [...]."""
        return Correction(self.weight * t**self.rise * (1 - t) ** self.fall, self.limit / passed.clamp(min=1e-300))


@dataclass(frozen=True)
class Transition:
    """The kernel of a sampler given x1: a velocity on a path, a kind of step, and perhaps a corrector.

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
        chances, places = uniform(z.shape, generator, z.device), uniform(z.shape, generator, z.device)
        if self.path.parts is None:
            return self._move(z, x1, t, t_next, chances, places).view(shape)
        moved = z.clone()
        for part, here in zip(self.path.parts, of_kinds or self.path.vocabulary.places_of(x1), strict=True):
            of_part, inside = replace(self, path=part.path), part.inside(z[here])
            arrived = of_part._move(inside.clamp(min=0), part.inside(x1[here]), t, t_next, chances[here], places[here])
            moved[here] = torch.where(inside >= 0, part.outside(arrived), z[here])  # others have no way to x1
        return moved.view(shape)

    def _move(self, z: Tensor, x1: Tensor, t: float, t_next: float, chances: Tensor, places: Tensor) -> Tensor:
        """Return where tokens z [N] are after the step, given two uniform numbers for each: if it leaves, and where to.

        If the rates have a bound, only tokens that would leave at this rate go on to rows of rates. To know how many
        they are, the host waits for the device once. The rows of all tokens would take longer.
        """
        rates, rule = rates_of(self.path, self.velocity), partial(STEPS.get(self.step), self.path)
        start, end = (torch.full((), time, dtype=torch.float64, device=z.device) for time in (t, t_next))
        bound = rates.rate_bound(x1, z, self._correction(x1, start.expand_as(x1), end.expand_as(x1)))
        if bound is not None:
            may_leave = (chances < rule(bound, x1, start.expand_as(x1), end.expand_as(x1))).nonzero().squeeze(-1)
            everyone, (z, x1, chances, places) = z, (values[may_leave] for values in (z, x1, chances, places))
        moved = z.clone()
        for part in small_chunks(z, rates.jump_size(self.corrector is not None), sharing=True):
            times = start.expand_as(x1[part]), end.expand_as(x1[part])
            jump = rates.jump(x1[part], z[part], start, self._correction(x1[part], *times))
            leaves = chances[part] < rule(jump.rate, x1[part], *times)
            # A CPU draws destinations only for tokens that leave. A GPU would have to wait for their number.
            here = leaves.nonzero().squeeze(-1) if device.is_host(z) else EVERYWHERE
            moved[part][here] = torch.where(leaves[here], jump.destination(places[part][here], here), z[part][here])
        return moved if bound is None else everyone.index_copy(0, may_leave, moved)

    def probabilities(self, x1: Tensor, z: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
        """Return P(x_{t+h} = x | x_t = z, x1) for all x, [..., K]: the distribution that `advance` draws from."""
        lands = t_next == 1
        before_end = torch.where(lands, t, t_next)
        correction = self._correction(x1, t, before_end)
        net_rates = rates_of(self.path, self.velocity).net(x1, z, t)
        rows = row_jump(net_rates, correction, self.path.log_prob(x1, t).exp())
        leaves = STEPS.get(self.step)(self.path, rows.rate, x1, t, before_end)[..., None]
        kernel = (leaves * rows.rates / rows.rate.clamp(min=1e-300)[..., None]).scatter_add(
            -1, z[..., None], 1 - leaves
        )
        landed = torch.zeros_like(kernel).scatter(-1, x1[..., None], 1.0)
        return torch.where(lands[..., None], landed, kernel)

    def _correction(self, x1: Tensor, t: Tensor, t_next: Tensor) -> Correction | None:
        if self.corrector is None:
            return None
        return self.corrector.correction(t, self.path.clock(x1, t_next) - self.path.clock(x1, t))
