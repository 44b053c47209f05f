"""Rows that several tokens share: what depends on a few small numbers is computed once for each combination of them."""

import torch
from torch import Tensor

WORTHWHILE = 0.5  # share of distinct rows up to which the others are looked up


def distinct_rows(*columns: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return where each distinct row of the columns [N] is found, [M], and for each row which of these it is, [N].

    None if there are too many of them to be worth it. An image has thousands of tokens but few pairs of values.
    """
    codes = torch.zeros_like(columns[0], dtype=torch.int64)
    for column in columns:
        values, numbers = column.unique(return_inverse=True)
        codes = codes * len(values) + numbers
        _, codes = codes.unique(return_inverse=True)  # small again, or the product might overflow
    count = int(codes.max()) + 1 if codes.numel() else 0
    if count > WORTHWHILE * codes.numel():
        return None
    places = torch.empty(count, dtype=torch.int64, device=codes.device)
    places[codes] = torch.arange(len(codes), device=codes.device)
    return places, codes
