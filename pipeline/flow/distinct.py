"""Rows that several tokens share, so that each distinct row is computed once."""

import torch
from torch import Tensor

from pipeline.flow import device

_LARGEST_CODE = 2**62
WORTHWHILE = 0.5  # largest share of distinct rows at which looking up the others still pays


def distinct_rows(*columns: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return the place of each distinct row of the columns [N], [M], and for every row the number of its equal, [N].

    Return None if too many rows are distinct. An image has thousands of tokens but few pairs of values. Return None on
    a GPU too: it would have to wait for the number of rows, and computes all of them sooner.

    >>> places, which = distinct_rows(torch.tensor([7, 7, 3, 7]), torch.tensor([1, 1, 0, 1]))
    >>> places, which
    (tensor([2, 3]), tensor([1, 1, 0, 1]))
    """
    if not device.is_host(columns[0]) or not columns[0].numel():
        return None
    codes, span = torch.zeros_like(columns[0], dtype=torch.int64), 1
    for column in columns:
        numbers = column.unique(return_inverse=True)[1] if column.is_floating_point() else column
        count = int(numbers.max()) + 1
        if span * count > _LARGEST_CODE:
            codes, span = codes.unique(return_inverse=True)[1], len(codes)
        codes, span = codes * count + numbers, span * count
    distinct, codes = codes.unique(return_inverse=True)
    if len(distinct) > WORTHWHILE * codes.numel():
        return None
    places = torch.empty_like(distinct)
    places[codes] = torch.arange(len(codes), device=codes.device)
    return places, codes
