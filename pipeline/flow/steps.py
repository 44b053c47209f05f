"""Steps from t to t + h: with what probability a token jumps, given the rate of its jump and the time that passes."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.categorical import uniform
from pipeline.flow.checks import check_positive
from pipeline.flow.chunks import row_chunks
from pipeline.flow.errors import FlowError
from pipeline.flow.jumps import Correction, row_jump
from pipeline.flow.paths.base import Path
from pipeline.flow.rates import rates_of
from pipeline.flow.registry import Registry
from pipeline.flow.velocities import Velocity

STEPS: Registry = Registry("step")


@STEPS.register("euler")
def euler(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability h lambda of a jump, cut at 1 where the step is too long for it (e:euler)."""
    return (rate * path.increment(x1, t, t_next)).clamp(max=1)


@STEPS.register("always_valid")
def always_valid(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability 1 - exp(-h lambda) of a jump, valid for any h (app:always_valid)."""
    return -torch.expm1(-rate * path.increment(x1, t, t_next))


@STEPS.register("exact")
def exact(path: Path, rate: Tensor, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Return the probability 1 - exp(-(s(t + h) - s(t)) lambda) of a jump, lambda per unit of the clock s.

    For the kinetic-optimal velocity of a mixture this is 1 - (1 - kappa_{t+h}) / (1 - kappa_t), with no error in h.
    """
    return -torch.expm1(-rate * (path.clock(x1, t_next) - path.clock(x1, t)))


@dataclass(frozen=True)
class Corrector:
    """How much of the probability-preserving velocity is added: weight w(t), and a limit on what it does in one step.

    w(t) = weight * t^rise * (1 - t)^fall. Near t = 0 a token that has just left the source would be sent back at an
    unbounded rate, so the corrector's expected number of jumps in a step is at most `limit`. A corrector adds jumps and
    so needs small steps: at few evaluations it makes samples worse, at many it mends the errors of earlier steps.
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
        """Return the correction of a step from t that advances the clock by `passed`, both [...]."""
        return Correction(self.weight * t**self.rise * (1 - t) ** self.fall, self.limit / passed.clamp(min=1e-300))


@dataclass(frozen=True)
class Transition:
    """The kernel of a sampler, given x1: which velocity, with which corrector, in which kind of step.

    `advance` draws from it. It asks for x1 itself, so that a faster kernel, which knows beforehand which sequences will
    jump, can be put in its place and evaluate the network for these only.
    """

    path: Path
    velocity: Velocity
    step: str = "exact"
    corrector: Corrector | None = None

    def advance(
        self, z: Tensor, draw_x1: Callable[[], Tensor], t: float, t_next: float, generator: torch.Generator
    ) -> Tensor:
        """Return x at t_next, drawn given z at t and x1; at t_next = 1 it is x1."""
        x1 = draw_x1()
        if t_next == 1:
            return x1
        shape, z, x1 = z.shape, z.flatten(), x1.flatten()
        chances, places = uniform(z.shape, generator, z.device), uniform(z.shape, generator, z.device)
        moved = torch.empty_like(z)
        rates = rates_of(self.path, self.velocity)
        for part in row_chunks(len(z), rates.jump_size(self.corrector is not None)):
            start, end = (torch.full(z[part].shape, time, dtype=torch.float64, device=z.device) for time in (t, t_next))
            jump = rates.jump(x1[part], z[part], start, self._correction(x1[part], start, end))
            leaves = chances[part] < STEPS.get(self.step)(self.path, jump.rate, x1[part], start, end)
            moved[part] = torch.where(leaves, jump.destination(places[part]), z[part])
        return moved.view(shape)

    def probabilities(self, x1: Tensor, z: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
        """Return P(x_{t+h} = x | x_t = z, x1) for all x, [..., K]: what `advance` draws from, written out."""
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
