"""Batches as a function of the seed and the step alone, so that training can go on from any step."""

import torch
from torch import Tensor

from pipeline.seeds import derive_seed


class Batches:
    """Rows of a data set, in a new random order in each epoch; step s takes the rows at positions s * size onwards."""

    def __init__(self, tokens: Tensor, size: int, seed: int) -> None:
        self._tokens, self._size, self._seed = tokens, size, seed
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    def at(self, step: int) -> Tensor:
        """Return the batch of a step, int64[size, D]."""
        position, parts, missing = step * self._size, [], self._size
        while missing:
            epoch, start = divmod(position, len(self._tokens))
            part = self._order_of(epoch)[start : start + missing]
            parts.append(part)
            position, missing = position + len(part), missing - len(part)
        return self._tokens[torch.cat(parts)].long()

    def _order_of(self, epoch: int) -> Tensor:
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(derive_seed(self._seed, "epoch", epoch))
            self._epoch, self._order = epoch, torch.randperm(len(self._tokens), generator=generator)
        return self._order
