"""Checks of arguments. Each raises a FlowError that names the argument, the bad value and what is allowed.

A check of values waits for the device. Inner loops run in a block of `deferred_checks`, which reads the answers at its
end.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError

_waiting: ContextVar[dict[str, Tensor] | None] = ContextVar("waiting", default=None)


def forbid(bad: Tensor, message: str, in_full: Callable[[], str] | None = None) -> None:
    """Raise a FlowError if any value of `bad` is true; `{count}` in the message becomes how many are.

    `in_full` makes a message that names a bad value. A block of `deferred_checks` knows only how many there were.

    >>> with deferred_checks():
    ...     forbid(torch.tensor([True, False]), "x: {count} values are negative")
    Traceback (most recent call last):
    pipeline.flow.errors.FlowError: x: 1 values are negative
    """
    waiting = _waiting.get()
    if waiting is not None:
        waiting[message] = bad.sum() + waiting.get(message, 0)
    elif bool(bad.any()):
        raise FlowError(in_full() if in_full else message.replace("{count}", str(int(bad.sum()))))


@contextmanager
def deferred_checks() -> Iterator[None]:
    """Read the answers of all checks in the block at its end; a block inside another one ends with that."""
    if _waiting.get() is not None:
        yield
        return
    waiting: dict[str, Tensor] = {}
    token = _waiting.set(waiting)
    try:
        yield
    except Exception as error:
        _raise_first(waiting, error)  # a bad value often breaks something else before the end
        raise
    finally:
        _waiting.reset(token)
    _raise_first(waiting)


def _raise_first(waiting: dict[str, Tensor], cause: Exception | None = None) -> None:
    if not waiting:
        return
    counts = torch.stack([count.cpu() for count in waiting.values()]).tolist()
    for message, count in zip(waiting, counts, strict=True):
        if count:
            raise FlowError(message.replace("{count}", str(count))) from cause


def check_times(t: Tensor, argument: str = "t", *, before_end: bool = False) -> None:
    """Raise unless every time lies in [0, 1], or in [0, 1) where a rate is asked for."""
    if not t.is_floating_point():
        raise FlowError(f"{argument}: times must be floating point, got {t.dtype}")
    inside = (t >= 0) & ((t < 1) if before_end else (t <= 1))
    interval = "[0, 1)" if before_end else "[0, 1]"
    message = f"{argument}: every time must lie in {interval}"
    forbid(~inside, message, lambda: f"{message}, got {first(t, ~inside)}")


def check_tokens(x: Tensor, size: int, argument: str) -> None:
    """Raise unless `x` holds token numbers of a vocabulary of `size` tokens."""
    if x.dtype != torch.int64:
        raise FlowError(f"{argument}: tokens must be int64, got {x.dtype}")
    outside = (x < 0) | (x >= size)
    message = f"{argument}: tokens must lie in 0..{size - 1}"
    forbid(outside, message, lambda: f"{message}, got {first(x, outside)}")


def check_logits(logits: Tensor, size: int, argument: str = "logits") -> None:
    """Raise if the last axis is not the vocabulary or a value is NaN or +inf."""
    check_size(logits, size, argument)
    check_peaks(logits.amax(-1), argument)


def check_peaks(peaks: Tensor, argument: str = "logits") -> None:
    """Raise if the largest value of a row is NaN or +inf; it is NaN if any value of the row is."""
    forbid(
        ~(peaks < torch.inf),
        f"{argument}: {{count}} rows hold NaN or +inf; look for a diverged training run or a faulty network",
    )


def check_possible(peaks: Tensor, argument: str = "logits") -> None:
    """Raise if the largest value of a row is -inf."""
    forbid(peaks == -torch.inf, f"{argument}: no possible token is left at some position; its logits are all -inf")


def first(values: Tensor, where: Tensor) -> float:
    """Return the first of the values at which `where` is true."""
    return values[where].flatten()[0].item()


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
