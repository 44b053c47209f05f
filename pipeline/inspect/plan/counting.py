"""Parameters and floating-point operations of networks, counted on tensors without values.

Matrix products, convolutions and attention are counted, with two operations per multiplication; elementwise operations
are not. Causal attention is counted as if it saw everything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from pipeline.config import ModelChoice
from pipeline.config.plugins import MODELS
from pipeline.networks.saved import TokenShape, is_told_classes, new_network

BACKWARD = 2  # times the operations of a forward pass: gradients of the features, and of the weights


@dataclass(frozen=True)
class Count:
    """The parameters of a network, the numbers in its file, and the FLOPs of a forward pass over one sequence."""

    parameters: int
    stored: int
    forward: int


def count_network(choice: ModelChoice, shape: TokenShape) -> Count:
    """Count a network for data of some shape."""
    try:
        return _counted(choice, shape, "meta")
    except (RuntimeError, NotImplementedError):
        # It reads the values of its input, and meta tensors have none: count it on the CPU.
        return _counted(choice, shape, "cpu")


def _counted(choice: ModelChoice, shape: TokenShape, device: str) -> Count:
    with torch.device(device):
        network = new_network(choice, shape).eval().requires_grad_(False)
        x = torch.zeros(1, shape.length, dtype=torch.int64)
        inputs: list[Tensor] = [x] if is_autoregressive(choice) else [x, torch.zeros(1)]
        further = {"labels": torch.zeros(1, dtype=torch.int64)} if is_told_classes(choice) else {}
    return Count(parameters_of(network), stored_in(network), flops_of(lambda: network(*inputs, **further)))


def is_autoregressive(choice: ModelChoice) -> bool:
    """Return whether a network predicts the next token, and takes no time."""
    return MODELS.load(choice.name).AUTOREGRESSIVE


def flops_of(work: Callable[[], Any]) -> int:
    """Return the FLOPs of some work; attention on CPUs is counted only if it consists of matrix products."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())


def parameters_of(network: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(parameter.numel() for parameter in network.parameters())


def stored_in(network: nn.Module) -> int:
    """Return how many numbers a file of the network holds: parameters, once each, and buffers."""
    return sum({id(tensor): tensor.numel() for tensor in network.state_dict(keep_vars=True).values()}.values())
