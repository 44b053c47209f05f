"""What the elements that are known say about those that are not: terms by how many atoms have an element already.

A crystal of many atoms has few elements. A transformer over tokens is slow to learn this, since for each hidden atom it
would have to copy one of 94 elements from another atom. Here the atoms of each element are counted, and the logit of an
element gets a learned term for its count, given how many elements there are and how many atoms are still hidden.
"""

import torch
from torch import Tensor, nn

from pipeline.crystals.tokens import BEGIN, CELL, FIRST_ELEMENT, PER_ATOM

ELEMENTS = BEGIN - FIRST_ELEMENT
COUNTS = 7  # atoms of an element: 0, 1, ..., 5, more
DISTINCT = 5  # elements of a crystal: 0, 1, 2, 3, more
LEFT = (2, 3, 5, 9)  # hidden atoms: 1, 2, 3 or 4, 5 to 8, more
STEEPNESS = 8.0  # nats by which a term changes if its weight changes by one


class Contents(nn.Module):
    """A table of terms; it is zero at first."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(COUNTS, DISTINCT, len(LEFT) + 1))

    def forward(self, x: Tensor, at: Tensor, pad: int) -> tuple[Tensor, Tensor]:
        """Return which of the tokens `at` [n] of crystals x [B, D] are elements, [m], and their terms [m, ELEMENTS]."""
        crystal, column = at // x.shape[1], at % x.shape[1] - CELL
        which = ((column >= 0) & (column % PER_ATOM == 0)).nonzero().squeeze(-1)
        elements = x[:, CELL::PER_ATOM]  # [B, a]
        known = (elements >= FIRST_ELEMENT) & (elements < BEGIN)
        numbers = (elements - FIRST_ELEMENT).clamp(0, ELEMENTS - 1)
        counts = torch.zeros(len(x), ELEMENTS, dtype=torch.int64, device=x.device)
        counts.scatter_add_(1, numbers, known.long())
        distinct = (counts > 0).sum(1).clamp(max=DISTINCT - 1)
        hidden = ((elements != pad) & ~known).sum(1)
        left = torch.bucketize(hidden, torch.tensor(LEFT, device=x.device), right=True)
        chosen = crystal[which]
        places = counts[chosen].clamp(max=COUNTS - 1), distinct[chosen][:, None], left[chosen][:, None]
        return which, STEEPNESS * self.table[places]
