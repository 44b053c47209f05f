"""What training minimises: the loss of a path at random times."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipeline.flow.losses import Loss, stratified_times
from pipeline.flow.paths.base import Path

Objective = Callable[[nn.Module, Tensor, torch.Generator], Tensor]  # (network, x1 [B, D], noise) -> losses [B, D]


@dataclass(frozen=True)
class FlowObjective:
    """The loss of data x1 seen as x_t at a random time t of [0, time_end)."""

    path: Path
    loss: Loss
    time_end: float

    def __call__(self, network: nn.Module, x1: Tensor, generator: torch.Generator) -> Tensor:
        t = stratified_times(len(x1), generator, end=self.time_end).to(x1.device)
        x_t = self.path.sample(x1, t, generator)
        return self.loss(self.path, network(x_t, t.float()), x1, x_t, t)
