"""Rows that several tokens share, so that each distinct row is computed once."""

import torch
from torch import Tensor

WORTHWHILE = 0.5  # largest share of distinct rows at which looking up the others still pays


def distinct_rows(*columns: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return the place of each distinct row of the columns [N], [M], and for every row the number of its equal, [N].

    Return None if too many rows are distinct. An image has thousands of tokens but few pairs of values.

    >>> places, which = distinct_rows(torch.tensor([7, 7, 3, 7]), torch.tensor([1, 1, 0, 1]))
    >>> places, which
    (tensor([2, 3]), tensor([1, 1, 0, 1]))
    """
    codes = torch.zeros_like(columns[0], dtype=torch.int64)
    for column in columns:
        values, numbers = column.unique(return_inverse=True)
        codes = codes * len(values) + numbers
        _, codes = codes.unique(return_inverse=True)  # keeps the codes small, or the product could overflow
    count = int(codes.max()) + 1 if codes.numel() else 0
    if count > WORTHWHILE * codes.numel():
        return None
    places = torch.empty(count, dtype=torch.int64, device=codes.device)
    places[codes] = torch.arange(len(codes), device=codes.device)
    return places, codes
