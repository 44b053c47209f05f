"""Schedulers: how fast a mixture path moves its mass to the data.

A scheduler is given by its clock s = -log(1 - kappa). In terms of s all mixture paths are the same. The clock
runs at the speed ds/dt = kappa' / (1 - kappa), the rate lambda of the mixture's kinetic-optimal velocity.
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from pipeline.flow.checks import check_positive
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError
from pipeline.flow.registry import Registry


class Scheduler(ABC):
    """A mixture scheduler kappa_t(x1) that grows from 0 to 1. Times and tokens have broadcastable shapes."""

    token_dependent = False

    @abstractmethod
    def clock(self, t: Tensor, x1: Tensor) -> Tensor:
        """Return s = -log(1 - kappa_t(x1)), infinite at t = 1."""

    @abstractmethod
    def rate(self, t: Tensor, x1: Tensor) -> Tensor:
        """Return ds/dt = kappa' / (1 - kappa), at least 0."""

    @abstractmethod
    def time(self, kappa: Tensor) -> Tensor:
        """Return the time at which a token-independent scheduler reaches `kappa`."""

    def kappa(self, t: Tensor, x1: Tensor) -> Tensor:
        """Return kappa_t(x1)."""
        return -torch.expm1(-self.clock(t, x1))


class Polynomial(Scheduler):
    """kappa = t^exponent.

    >>> Polynomial(3).kappa(torch.tensor(0.5), x1=torch.tensor(0))
    tensor(0.1250)
    """

    def __init__(self, exponent: float) -> None:
        check_positive(exponent, "exponent")
        self.exponent = exponent

    def clock(self, t: Tensor, x1: Tensor) -> Tensor:
        return -torch.log1p(-(t**self.exponent))

    def rate(self, t: Tensor, x1: Tensor) -> Tensor:
        return self.exponent * t ** (self.exponent - 1) / (1 - t**self.exponent)

    def time(self, kappa: Tensor) -> Tensor:
        return kappa ** (1 / self.exponent)


class Kumaraswamy(Scheduler):
    """1 - kappa = (1 - t^rise)^fall, the law of Kumaraswamy: late for a large `rise`, early for a large `fall`.

    >>> Kumaraswamy(rise=1, fall=3).kappa(torch.tensor(0.5), x1=torch.tensor(0))
    tensor(0.8750)
    """

    def __init__(self, rise: float, fall: float) -> None:
        check_positive(rise, "rise")
        check_positive(fall, "fall")
        self.rise, self.fall = rise, fall

    def clock(self, t: Tensor, x1: Tensor) -> Tensor:
        return -self.fall * torch.log1p(-(t**self.rise))

    def rate(self, t: Tensor, x1: Tensor) -> Tensor:
        return self.fall * self.rise * t ** (self.rise - 1) / (1 - t**self.rise)

    def time(self, kappa: Tensor) -> Tensor:
        return (-torch.expm1(torch.log1p(-kappa) / self.fall)) ** (1 / self.rise)


class Cosine(Scheduler):
    """kappa = 1 - cos(pi t / 2). The share of tokens still to move is a cosine, as in masked image models.

    >>> Cosine().kappa(torch.tensor(0.5), x1=torch.tensor(0))
    tensor(0.2929)
    """

    def clock(self, t: Tensor, x1: Tensor) -> Tensor:
        return -torch.log(torch.sin(math.pi / 2 * (1 - t)))  # the sine is exactly 0 at t = 1, cos(pi t / 2) is not

    def rate(self, t: Tensor, x1: Tensor) -> Tensor:
        return math.pi / 2 * torch.tan(math.pi / 2 * t)

    def time(self, kappa: Tensor) -> Tensor:
        return 2 / math.pi * torch.acos(1 - kappa)


class KineticOptimal(Scheduler):
    """The scheduler that makes a mixture a geodesic of the sphere. It depends on the token's mass in the source.

    >>> KineticOptimal(math.pi / 2).kappa(torch.tensor(0.5), x1=torch.tensor(0))  # of a mask: sin^2(pi t / 2)
    tensor(0.5000, dtype=torch.float64)
    """

    def __init__(self, omega: Tensor | float) -> None:
        omega = torch.as_tensor(omega, dtype=torch.float64)
        if bool((omega < 0).any()) or bool((omega > math.pi / 2 + 1e-12).any()):
            raise FlowError(f"omega: angles must lie in [0, pi/2], got {omega.min().item()} to {omega.max().item()}")
        self.omega = Table(omega)
        self.token_dependent = omega.dim() > 0

    @classmethod
    def for_source(cls, p_x1: Tensor, can_be_data: Tensor) -> "KineticOptimal":
        """Return the scheduler for a source that gives the token x1 the probability p_x1 (omega = arccos sqrt p)."""
        omega = torch.acos(p_x1.double().clamp(0, 1).sqrt())
        angles = omega[can_be_data]
        return cls(float(angles[0])) if bool((angles == angles[0]).all()) else cls(omega)

    def _angle(self, t: Tensor, x1: Tensor) -> Tensor:
        omega = self.omega.on(x1.device)
        return omega[x1] if self.token_dependent else omega

    def clock(self, t: Tensor, x1: Tensor) -> Tensor:
        """Return -log(1 - kappa) for kappa = 1 - sin^2((1 - t) W) / sin^2 W (e:ko_scheduler).

        With sinc(x) = sin(pi x) / (pi x), the limit 1 - (1 - t)^2 at W = 0 (all source mass on x1) comes out right.
        """
        angle = self._angle(t, x1)
        bend = torch.sinc((1 - t) * angle / math.pi) / torch.sinc(angle / math.pi)
        return (-2 * (torch.log(1 - t) + torch.log(bend))).clamp(min=0)  # rounding gives -1e-16 just after t = 0

    def rate(self, t: Tensor, x1: Tensor) -> Tensor:
        """Return kappa' / (1 - kappa) = 2 W / tan((1 - t) W), at least 0 (e:ko_velocity)."""
        rest = (1 - t) * self._angle(t, x1)
        return (2 / (1 - t) * torch.cos(rest) / torch.sinc(rest / math.pi)).clamp(min=0)

    def time(self, kappa: Tensor) -> Tensor:
        if self.token_dependent:
            raise FlowError("a token-dependent scheduler has no single time for a kappa; use KineticOptimal(pi / 4)")
        omega = self.omega.on(kappa.device)
        if float(omega) == 0:
            return 1 - torch.sqrt(1 - kappa)
        return 1 - torch.asin(torch.sqrt(1 - kappa) * torch.sin(omega)) / omega


SCHEDULERS: Registry = Registry("scheduler")


@SCHEDULERS.register("linear")
def linear(p_x1: Tensor, can_be_data: Tensor) -> Scheduler:
    """kappa = t.

    >>> SCHEDULERS.get("linear")(torch.zeros(2), torch.tensor([True, True])).kappa(torch.tensor(0.5), torch.tensor(0))
    tensor(0.5000)
    """
    return Polynomial(1)


@SCHEDULERS.register("cubic")
def cubic(p_x1: Tensor, can_be_data: Tensor) -> Scheduler:
    """kappa = t^3.

    >>> SCHEDULERS.get("cubic")(torch.zeros(2), torch.tensor([True, True])).kappa(torch.tensor(0.5), torch.tensor(0))
    tensor(0.1250)
    """
    return Polynomial(3)


@SCHEDULERS.register("early_cubic")
def early_cubic(p_x1: Tensor, can_be_data: Tensor) -> Scheduler:
    """kappa = 1 - (1 - t)^3. Beside kinds of tokens with the cubic scheduler, those with this one mostly come first.

    >>> scheduler = SCHEDULERS.get("early_cubic")(torch.zeros(2), torch.tensor([True, True]))
    >>> scheduler.kappa(torch.tensor(0.5), x1=torch.tensor(0))
    tensor(0.8750)
    """
    return Kumaraswamy(rise=1, fall=3)


@SCHEDULERS.register("first")
def first(p_x1: Tensor, can_be_data: Tensor) -> Scheduler:
    """1 - kappa = (1 - t)^25. Kinds of tokens with `first`, `second` and `third` come one kind after the other.

    >>> scheduler = SCHEDULERS.get("first")(torch.zeros(2), torch.tensor([True, True]))
    >>> scheduler.time(torch.tensor([0.01, 0.99]))
    tensor([0.0004, 0.1682])
    """
    return Kumaraswamy(rise=1, fall=25)


@SCHEDULERS.register("second")
def second(p_x1: Tensor, can_be_data: Tensor) -> Scheduler:
    """1 - kappa = (1 - t^4)^120.

    >>> scheduler = SCHEDULERS.get("second")(torch.zeros(2), torch.tensor([True, True]))
    >>> scheduler.time(torch.tensor([0.01, 0.99]))
    tensor([0.0957, 0.4405])
    """
    return Kumaraswamy(rise=4, fall=120)


@SCHEDULERS.register("third")
def third(p_x1: Tensor, can_be_data: Tensor) -> Scheduler:
    """1 - kappa = (1 - t^6)^3.

    >>> scheduler = SCHEDULERS.get("third")(torch.zeros(2), torch.tensor([True, True]))
    >>> scheduler.time(torch.tensor([0.01, 0.99]))
    tensor([0.3867, 0.9604])
    """
    return Kumaraswamy(rise=6, fall=3)


@SCHEDULERS.register("cosine")
def cosine(p_x1: Tensor, can_be_data: Tensor) -> Scheduler:
    """kappa = 1 - cos(pi t / 2).

    >>> SCHEDULERS.get("cosine")(torch.zeros(2), torch.tensor([True, True])).kappa(torch.tensor(0.5), torch.tensor(0))
    tensor(0.2929)
    """
    return Cosine()


@SCHEDULERS.register("kinetic_optimal")
def kinetic_optimal(p_x1: Tensor, can_be_data: Tensor) -> Scheduler:
    """kappa = 1 - sin^2((1 - t) W) / sin^2 W with W = arccos sqrt p(x1).

    >>> scheduler = SCHEDULERS.get("kinetic_optimal")(torch.tensor([0.9, 0.1]), torch.tensor([True, True]))
    >>> scheduler.kappa(torch.tensor(0.5), x1=torch.tensor([0, 1]))  # it depends on the token
    tensor([0.7434, 0.6201], dtype=torch.float64)
    """
    return KineticOptimal.for_source(p_x1, can_be_data)
