"""The registry of velocities."""

from collections.abc import Callable

from torch import Tensor

from pipeline.flow.registry import Registry
from pipeline.flow.state import State

Velocity = Callable[[State, Tensor, Tensor], Tensor]  # (state, z, x1) -> net rates [..., K]

VELOCITIES: Registry[Velocity] = Registry("velocity")
