"""AdamW with a linear warm-up, and the moving average of the weights."""

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from pipeline.config import Training

Tensors = tuple[Tensor, ...] | list[Tensor]


def new_optimiser(network: nn.Module, training: Training) -> torch.optim.AdamW:
    """Return AdamW for all parameters; its learning rate is set anew in each step."""
    return torch.optim.AdamW(
        network.parameters(), lr=training.learning_rate, betas=training.betas, weight_decay=training.weight_decay
    )


def learning_rate(training: Training, step: int) -> float:
    """Return the learning rate of step 0, 1, 2, ...: a linear rise, then constant."""
    return training.learning_rate * min(1.0, (step + 1) / max(1, training.warmup))


def moving_average(network: nn.Module, decay: float) -> AveragedModel:
    """Return the exponential moving average of a network's weights.

    After n updates the decay is at most (1 + n) / (10 + n), so that the first weights are soon forgotten.
    """

    @torch.no_grad()
    def update(averages: Tensors, current: Tensors, updates: Tensor | int) -> None:
        step = int(updates)
        torch._foreach_lerp_(averages, current, 1 - min(decay, (1 + step) / (10 + step)))

    return AveragedModel(network, multi_avg_fn=update)
