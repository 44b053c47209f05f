"""Which picture of a set goes where in a grid."""

import torch
from torch import Tensor


def first_rows(count: int, labels: Tensor | None, columns: int, rows: int) -> Tensor:
    """Return the numbers of the pictures in a grid, [rows, columns]: the first ones, or of class c in column c.

    There are fewer rows if there are too few pictures, or too few of a class, but always at least one.
    """
    if labels is None:
        rows = max(1, min(rows, count // columns))
        return torch.arange(min(count, rows * columns)).view(rows, -1)
    found = [(labels == column).nonzero().squeeze(-1)[:rows] for column in range(columns)]
    least = min(map(len, found))
    if not least:  # a class has no picture, so columns cannot stand for classes
        return first_rows(count, None, columns, rows)
    return torch.stack([numbers[:least] for numbers in found], dim=1)
