"""Work on many rows of a vocabulary's size within a bounded amount of memory."""

from collections.abc import Iterator

MEMORY_BUDGET = 2**30  # bytes that the rows of one chunk, with their intermediates, may take; may be set anew
_INTERMEDIATES = 8  # float64 tensors of a row's size that are alive at once


def row_chunks(rows: int, row_size: int, budget: int | None = None) -> Iterator[slice]:
    """Yield slices of 0..rows such that each holds as many rows of `row_size` float64 values as the budget admits."""
    step = max(1, (budget or MEMORY_BUDGET) // (8 * _INTERMEDIATES * row_size))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
