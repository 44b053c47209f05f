"""Batches as a function of the seed and the step alone, so that training can go on from any step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.store.seeds import derive_seed


@dataclass(frozen=True)
class LabelledRows:
    """Rows of tokens [N, D], each followed by its class [N]; rows are put together only on request."""

    tokens: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows: Tensor) -> Tensor:
        """Return some rows, int64[n, D + 1]."""
        return torch.cat([self.tokens[rows].long(), self.labels[rows][:, None].long()], dim=1)


class Batches:
    """Rows of a data set, in a new random order in each epoch; step s takes the rows from position s * size on."""

    def __init__(self, tokens: Tensor | LabelledRows, size: int, seed: int) -> None:
        self._tokens, self._size, self._seed = tokens, size, seed
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    def at(self, step: int) -> Tensor:
        """Return the batch of a step, int64[size, ...]."""
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
