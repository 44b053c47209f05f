"""Chunks of rows, so that work on many rows of a vocabulary's size fits in memory."""

from collections.abc import Iterator

from torch import Tensor

from pipeline.flow import device

MEMORY_BUDGET = 2**30  # bytes for the rows of one chunk and their intermediates; a caller may change it
_SHORT_ROW = 2048
_CACHE_SHARE = 64  # how much smaller the chunks are that should stay in the cache
_INTERMEDIATES = 8  # float64 tensors of a row's size that are alive at once


def row_chunks(rows: int, row_size: int, budget: int | None = None) -> Iterator[slice]:
    """Yield slices of 0..rows, each with as many rows of `row_size` float64 values as the budget allows.

    >>> list(row_chunks(rows=5, row_size=100, budget=2 * 8 * 8 * 100))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, (budget or MEMORY_BUDGET) // (8 * _INTERMEDIATES * row_size))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def small_chunks(tokens: Tensor, row_size: int, *, sharing: bool = False) -> Iterator[slice]:
    """Yield slices of tokens [N], so small that their rows stay in the cache of a CPU.

    Short rows that tokens are `sharing` are worked on in large chunks, where more of them are equal.
    """
    cached = device.is_host(tokens) and not (sharing and row_size <= _SHORT_ROW)
    return row_chunks(len(tokens), row_size, MEMORY_BUDGET // _CACHE_SHARE if cached else None)
