"""Metric paths: jumps from a sorted row for each x1, and in large vocabularies rows only for tokens that may leave.

They are for a vocabulary of one kind and nothing else. Steps see any other one as its parts (`Path.parts`).
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pipeline.flow.jumps import Jump
from pipeline.flow.rates import ClosedForms, Rates
from pipeline.flow.sorted_jumps import HubJump, SortedJump, campbell_jump
from pipeline.flow.state import at

if TYPE_CHECKING:
    from pipeline.flow.paths.metric import MetricPath

LARGEST_TABLE = 2048  # tokens; up to here there is room for a row for each x1
_FEW_NUMBERS = 32
_ROUNDING = 1e-9  # neither a distance nor a sum of thousands of rates is ever as inexact as this


class SortedMetricRates(Rates, ABC):
    """A velocity whose jumps need one sorted row for each pair of x1 and t, if the vocabulary is small enough."""

    path: "MetricPath"

    def jump(self, x1: Tensor, z: Tensor, t: Tensor) -> Jump:
        if not self._fits():
            return super().jump(x1, z, t)
        rows, which, size = x1, torch.arange(len(x1), device=x1.device), self.path.vocabulary.size
        if t.dim() == 0 and len(x1) > size:  # rows for all x1 there can be: to ask which there are would take longer
            rows, which = torch.arange(size, device=x1.device), x1
        return self.sorted_jump(rows, t.expand(rows.shape), which, x1, z)

    def jump_size(self) -> int:
        return _FEW_NUMBERS if self._fits() else super().jump_size()

    def _fits(self) -> bool:
        return self.path.whole and self.path.vocabulary.size <= LARGEST_TABLE

    @abstractmethod
    def sorted_jump(self, rows: Tensor, t: Tensor, which: Tensor, x1: Tensor, z: Tensor) -> Jump:
        """Return the jump, given the data and times of all rows [M], and `which` row, x1 and z of each token [N]."""


class MetricKineticOptimal(SortedMetricRates):
    """The kinetic-optimal velocity: tokens only move closer to x1."""

    def net(self, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        """Return the net rates p(x) (d(z, x1) - d(x, x1)) (eq:metric_velocity)."""
        distances = self.path.distances(x1)
        prob = torch.softmax(self.path.scores(distances, self.path.clock(x1, t)), dim=-1)
        from_z = at(distances, z)
        closer = from_z - distances
        if not self.path.whole:
            closer = torch.where((distances < torch.inf) & (from_z < torch.inf), closer, 0.0)
        return closer.mul_(prob)

    def sorted_jump(self, rows: Tensor, t: Tensor, which: Tensor, x1: Tensor, z: Tensor) -> Jump:
        """Return the jump at the rates p(x) d(z) - p(x) d(x). Its order is that of the distances and never changes."""
        order, ranks, distances = (table.on(z.device) for table in self.path.by_distance)
        rank = ranks[x1, z]
        prob = torch.softmax(self.path.scores(distances[rows], self.path.clock(rows, t)), dim=-1)
        scale = torch.ones_like(rank, dtype=torch.float64)
        return SortedJump(order[rows], -prob * distances[rows], prob, which, rank, scale, -distances[x1, rank])

    def rate_bound(self, x1: Tensor, z: Tensor) -> Tensor | None:
        """Return d(z, x1), because p(x) (d(z) - d(x))_+ adds up to no more.

        Other velocities have no such bound: Campbell's divides by p(z), and the power velocities send tokens back from
        x1, where most are late on a path, at a rate that takes a whole row to compute.
        """
        if not self.path.whole or self.path.vocabulary.size <= LARGEST_TABLE:
            return None
        return self.path.distance.between(z, x1).double() * (1 + _ROUNDING) + _ROUNDING


class MetricCampbell(SortedMetricRates):
    """Campbell's velocity."""

    def sorted_jump(self, rows: Tensor, t: Tensor, which: Tensor, x1: Tensor, z: Tensor) -> Jump:
        return campbell_jump(self.path.state(rows, t), which, z)


class MetricPowerInfinity(SortedMetricRates):
    """The power-infinity velocity. On a metric path no token is likelier than x1, so x1 is the hub."""

    def sorted_jump(self, rows: Tensor, t: Tensor, which: Tensor, x1: Tensor, z: Tensor) -> Jump:
        return HubJump(self.path.state(rows, t), rows, which, x1, z)


CLOSED_FORMS: ClosedForms = {
    "kinetic_optimal": MetricKineticOptimal,
    "campbell": MetricCampbell,
    "power_infinity": MetricPowerInfinity,
}
