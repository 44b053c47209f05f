"""The exponential moving average of a network's weights."""

from copy import deepcopy

import torch
from torch import nn


class MovingAverage(nn.Module):
    """A copy of a network whose weights follow those of the original.

    After n updates the decay is at most (1 + n) / (10 + n), so that the first weights are soon forgotten. Torch's own
    `AveragedModel` counts the updates on the device, and waits for it in each.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        super().__init__()
        self.module, self.decay = deepcopy(network), decay
        self._averages: list[torch.Tensor] = list(self.module.parameters())
        self._weights: list[torch.Tensor] = list(network.parameters())
        self._pairs_of_buffers = list(self.module.buffers()), list(network.buffers())

    def forward(self, *arguments: object, **named: object) -> torch.Tensor:
        """Return what the network with averaged weights returns."""
        result: torch.Tensor = self.module(*arguments, **named)
        return result

    @torch.no_grad()
    def update(self, updates: int) -> None:
        """Take in the weights of the original, after so many `updates` before; buffers are copied."""
        weight = 1 - min(self.decay, (1 + updates) / (10 + updates)) if updates else 1.0
        torch._foreach_lerp_(self._averages, self._weights, weight)
        for kept, buffer in zip(*self._pairs_of_buffers, strict=True):
            kept.copy_(buffer)
