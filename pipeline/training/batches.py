"""Batches as a function of the seed and the step alone, so that training can go on from any step."""

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
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


@dataclass(frozen=True)
class PaddedRows:
    """Rows of tokens [N, D], and the number of tokens [N] before the pads at the end of each."""

    tokens: Tensor
    lengths: Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows: Tensor) -> Tensor:
        """Return some rows, up to the end of the longest, [n, d]."""
        return self.tokens[rows][:, : int(self.lengths[rows].max())]


Rows = Tensor | LabelledRows | PaddedRows


class Batches:
    """Rows of a data set, in a new random order in each epoch; step s takes the rows from position s * size on.

    A batch comes in `parts` of equal size. Rows with pads are put into parts with others of similar length, whatever
    their order in the data; parts come in random order.
    """

    def __init__(self, rows: Rows, size: int, seed: int, parts: int = 1) -> None:
        self._rows, self._size, self._seed, self._parts = rows, size, seed, parts
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    def at(self, step: int) -> list[Tensor]:
        """Return the parts of the batch of a step, int64[size / parts, ...] each."""
        position, pieces, missing = step * self._size, [], self._size
        while missing:
            epoch, start = divmod(position, len(self._rows))
            piece = self._order_of(epoch)[start : start + missing]
            pieces.append(piece)
            position, missing = position + len(piece), missing - len(piece)
        return [self._rows[part].long() for part in torch.cat(pieces).chunk(self._parts)]

    def _order_of(self, epoch: int) -> Tensor:
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(derive_seed(self._seed, "epoch", epoch))
            self._epoch, self._order = epoch, torch.randperm(len(self._rows), generator=generator)
            if isinstance(self._rows, PaddedRows):
                self._order = self._grouped(self._order, self._rows.lengths, epoch * len(self._order), generator)
        return self._order

    def _grouped(self, rows: Tensor, lengths: Tensor, start: int, generator: torch.Generator) -> Tensor:
        """Return the rows in an order in which those of a part are of similar length; the first has position `start`.

        The parts of an epoch take the rows from the shortest to the longest, in a random order of the parts.
        """
        numbers = (start + torch.arange(len(rows))) // (self._size // self._parts)
        turn = torch.randperm(int(numbers[-1] - numbers[0]) + 1, generator=generator)[numbers - numbers[0]]
        by_length = rows[lengths[rows].argsort(stable=True)]
        return torch.empty_like(rows).scatter_(0, turn.argsort(stable=True), by_length)


class BatchesAhead(AbstractContextManager["BatchesAhead"]):
    """Batches in pinned memory, each prepared in a thread while the step before it runs on a GPU."""

    def __init__(self, batches: Batches) -> None:
        self._batches, self._pool = batches, ThreadPoolExecutor(1)
        self._next: tuple[int, Future[list[Tensor]]] | None = None

    def at(self, step: int) -> list[Tensor]:
        """Return the parts of the batch of a step, and begin with those of the next."""
        if self._next is None or self._next[0] != step:
            self._next = step, self._pool.submit(self._pinned, step)
        parts = self._next[1].result()
        self._next = step + 1, self._pool.submit(self._pinned, step + 1)
        return parts

    def _pinned(self, step: int) -> list[Tensor]:
        return [part.pin_memory() for part in self._batches.at(step)]

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown(cancel_futures=True)
