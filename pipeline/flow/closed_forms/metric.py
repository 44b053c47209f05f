"""Metric paths: rows over the tokens of one kind, and jumps from a few sorted rows instead of a row for each token."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pipeline.flow.distinct import distinct_rows
from pipeline.flow.jumps import Correction, Jump, KindwiseJump
from pipeline.flow.rates import ClosedForms, Rates, rates_of
from pipeline.flow.sorted_jumps import HubJump, campbell_jump, kinetic_optimal_jump
from pipeline.flow.state import State, at

if TYPE_CHECKING:
    from pipeline.flow.paths.metric import MetricPath, Part

_LARGEST_TABLE = 2048  # tokens; up to here there is room for a row for each x1
_FEW_NUMBERS = 32


class MetricRates(Rates):
    """Any velocity: tokens never leave their kind, so a row need only hold the tokens of one kind."""

    path: "MetricPath"

    def jump(self, x1: Tensor, z: Tensor, t: Tensor, correction: Correction | None = None) -> Jump:
        vocabulary = self.path.vocabulary
        kinds = vocabulary.kinds_of(x1)
        if vocabulary.kinds == 1 or not torch.equal(kinds, vocabulary.kind_of.on(z.device)[z]):
            return super().jump(x1, z, t, correction)
        jumps: dict[int, Jump] = {}
        for kind, part in enumerate(self.path.parts):
            here = kinds == kind
            rates, limited = rates_of(part.path, self.velocity), correction.at(here) if correction else None
            inner = rates.jump(part.inside(x1[here]), part.inside(z[here]), t[here], limited)
            jumps[kind] = PartJump(inner, part)
        return KindwiseJump(kinds, jumps)


class PartJump(Jump):
    """A jump between the tokens of one kind."""

    def __init__(self, jump: Jump, part: "Part") -> None:
        self._jump, self._part, self.rate = jump, part, jump.rate

    def destination(self, uniforms: Tensor) -> Tensor:
        return self._part.outside(self._jump.destination(uniforms))


class SortedMetricRates(MetricRates, ABC):
    """A velocity whose jumps need one sorted row for each pair of x1 and t, if the vocabulary is small enough."""

    def jump(self, x1: Tensor, z: Tensor, t: Tensor, correction: Correction | None = None) -> Jump:
        if not self._fits(correction is not None):
            return super().jump(x1, z, t, correction)
        everything = torch.arange(len(x1), device=x1.device)
        places, which = distinct_rows(x1, t) or (everything, everything)
        return self.sorted_jump(self.path.state(x1[places], t[places]), which, x1, z)

    def jump_size(self, corrected: bool = False) -> int:
        return _FEW_NUMBERS if self._fits(corrected) else super().jump_size(corrected)

    def _fits(self, corrected: bool) -> bool:
        vocabulary = self.path.vocabulary
        return vocabulary.kinds == 1 and vocabulary.size <= _LARGEST_TABLE and not corrected

    @abstractmethod
    def sorted_jump(self, state: State, which: Tensor, x1: Tensor, z: Tensor) -> Jump:
        """Return the jump, given the distinct states of the path [M, K] and `which` of them each token has, [N]."""


class MetricKineticOptimal(SortedMetricRates):
    """The kinetic-optimal velocity: tokens only move closer to x1."""

    def net(self, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        """Return the net rates p(x) (d(z, x1) - d(x, x1)) (eq:metric_velocity)."""
        distances = self.path.distances(x1)
        prob = self.path.log_softmax(distances, self.path.clock(x1, t)[..., None]).exp()
        from_z = at(distances, z)
        closer = torch.where((distances < torch.inf) & (from_z < torch.inf), from_z - distances, 0.0)
        return prob * closer

    def sorted_jump(self, state: State, which: Tensor, x1: Tensor, z: Tensor) -> Jump:
        return kinetic_optimal_jump(state, which, z)


class MetricCampbell(SortedMetricRates):
    """Campbell's velocity."""

    def sorted_jump(self, state: State, which: Tensor, x1: Tensor, z: Tensor) -> Jump:
        return campbell_jump(state, which, z)


class MetricPowerInfinity(SortedMetricRates):
    """The power-infinity velocity. On a metric path no token is likelier than x1, so x1 is the hub."""

    def sorted_jump(self, state: State, which: Tensor, x1: Tensor, z: Tensor) -> Jump:
        return HubJump(state, which, x1, z)


CLOSED_FORMS: ClosedForms = {
    "kinetic_optimal": MetricKineticOptimal,
    "campbell": MetricCampbell,
    "power_infinity": MetricPowerInfinity,
    None: MetricRates,
}
