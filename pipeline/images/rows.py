"""Which pictures of a set stand where in a grid."""

import torch
from torch import Tensor


def first_rows(count: int, labels: Tensor | None, columns: int, rows: int) -> Tensor:
    """Return the numbers of the pictures in a grid, [rows, columns]: the first ones, in column c of class c if known.

    There are fewer rows if there are not enough pictures of one of the classes, but at least one of anything.
    """
    if labels is None:
        rows = max(1, min(rows, count // columns))
        return torch.arange(min(count, rows * columns)).view(rows, -1)
    found = [(labels == column).nonzero().squeeze(-1)[:rows] for column in range(columns)]
    least = min(map(len, found))
    if not least:  # a class without a picture: no column could be told from another
        return first_rows(count, None, columns, rows)
    return torch.stack([numbers[:least] for numbers in found], dim=1)
