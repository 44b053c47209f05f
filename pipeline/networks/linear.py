"""Linear layers, by the faster of two libraries for products of matrices on a CPU.

MKL, which torch takes for float32, uses the 512-bit instructions of Intel's processors only. OneDNN, which torch takes
for convolutions, uses them on others too, and is more than twice as fast there. Both round in their own ways.
"""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

LEAST = 1 << 21  # multiplications; with fewer, oneDNN's start takes longer than it saves
CPU_INFO = Path("/proc/cpuinfo")


class Linear(nn.Linear):
    """A linear layer of torch that computes its products with `linear`."""

    def forward(self, features: Tensor) -> Tensor:
        return linear(features, self.weight, self.bias)


def linear(features: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return features [..., I] times the transposed weight [O, I], plus the bias [O]; gradients exist once.

    >>> linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([5.0]))
    tensor([[16.]])
    """
    if _suits(features, weight) and onednn_is_faster():
        result: Tensor = _Product.apply(features, weight, bias)
        return result
    return functional.linear(features, weight, bias)


@cache
def onednn_is_faster() -> bool:
    """Return whether this is a processor with 512-bit instructions that MKL does not use."""
    known = hasattr(torch.ops.mkldnn, "_linear_pointwise") and torch.backends.mkl.is_available()
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return known and wide and CPU_INFO.exists() and "GenuineIntel" not in CPU_INFO.read_text(encoding="utf-8")


def _suits(features: Tensor, weight: Tensor) -> bool:
    return (
        features.device.type == "cpu"
        and features.dtype == weight.dtype == torch.float32
        and features.numel() * len(weight) >= LEAST
        and not torch.is_autocast_enabled("cpu")
    )


class _Product(Function):
    """The product of `linear` by oneDNN."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(features, weight)
        return _times(features, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        features, weight = ctx.saved_tensors
        rows, wanted = gradient.reshape(-1, len(weight)), ctx.needs_input_grad
        return (
            _times(rows, weight.t()).view_as(features) if wanted[0] else None,
            _times(rows.t(), features.reshape(-1, features.shape[-1]).t()) if wanted[1] else None,
            rows.sum(0) if wanted[2] else None,
        )


def _times(features: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    result: Tensor = torch.ops.mkldnn._linear_pointwise(features, weight, bias, "none", [], "")
    return result
