"""Checks of arguments. Each raises a FlowError that names the argument, the bad value and what is allowed."""

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError


def check_times(t: Tensor, argument: str = "t", *, before_end: bool = False) -> None:
    """Raise unless every time lies in [0, 1], or in [0, 1) where a rate is asked for."""
    if not t.is_floating_point():
        raise FlowError(f"{argument}: times must be floating point, got {t.dtype}")
    inside = (t >= 0) & ((t < 1) if before_end else (t <= 1))
    if not bool(inside.all()):
        interval = "[0, 1)" if before_end else "[0, 1]"
        raise FlowError(f"{argument}: every time must lie in {interval}, got {t[~inside].flatten()[0].item()}")


def check_tokens(x: Tensor, size: int, argument: str) -> None:
    """Raise unless `x` holds token numbers of a vocabulary of `size` tokens."""
    if x.dtype != torch.int64:
        raise FlowError(f"{argument}: tokens must be int64, got {x.dtype}")
    outside = (x < 0) | (x >= size)
    if bool(outside.any()):
        raise FlowError(f"{argument}: tokens must lie in 0..{size - 1}, got {x[outside].flatten()[0].item()}")


def check_logits(logits: Tensor, size: int, argument: str = "logits") -> None:
    """Raise if the last axis is not the vocabulary or a value is NaN or +inf."""
    check_size(logits, size, argument)
    bad = ~(logits.amax(-1) < torch.inf)  # a row's maximum is NaN if any of its values is
    if bool(bad.any()):
        raise FlowError(
            f"{argument}: {int(bad.sum())} rows hold NaN or +inf; look for a diverged training run or a faulty network"
        )


def check_size(logits: Tensor, size: int, argument: str = "logits") -> None:
    """Raise if the last axis is not the vocabulary."""
    if logits.shape[-1] != size:
        raise FlowError(f"{argument}: the last axis must have the vocabulary's {size} entries, got {logits.shape[-1]}")


def check_count(value: int, argument: str) -> None:
    """Raise unless `value` is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise FlowError(f"{argument}: must be a whole number of at least 1, got {value!r}")


def check_positive(value: float, argument: str) -> None:
    """Raise unless `value` is a finite number above 0."""
    if not 0 < value < float("inf"):
        raise FlowError(f"{argument}: must be a finite number above 0, got {value!r}")


def check_distribution(p: Tensor, argument: str) -> None:
    """Raise unless every row of `p` is a probability mass function."""
    if bool((p < 0).any()) or bool(p.isnan().any()):
        raise FlowError(f"{argument}: probabilities must be at least 0 and not NaN, got a minimum of {p.min().item()}")
    total = p.sum(-1)
    wrong = (total - 1).abs() > 1e-6
    if bool(wrong.any()):
        raise FlowError(f"{argument}: probabilities must sum to 1, got {total[wrong].flatten()[0].item():.8g}")
