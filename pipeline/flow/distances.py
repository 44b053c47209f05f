"""Distances between tokens: from a table, from embeddings, or from a function."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from pipeline.flow.checks import check_positive
from pipeline.flow.chunks import row_chunks
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError
from pipeline.flow.vocabulary import NEVER_DATA, Vocabulary

_UNIT = 1 + 1e-5  # the square of a norm that was 1 in float32


class Distance(ABC):
    """A function d(x, x1) >= 0 that is zero only at x = x1. It need not be symmetric or obey a triangle inequality."""

    size: int  # the number of tokens

    @abstractmethod
    def rows(self, x1: Tensor) -> Tensor:
        """Return d(x, x1) for every token x, [..., K]."""

    def between(self, x: Tensor, x1: Tensor) -> Tensor:
        """Return d(x, x1) for pairs of tokens, [...] each."""
        return self.rows(x1).gather(-1, x[..., None]).squeeze(-1)

    def within(self, tokens: Tensor) -> "Distance":
        """Return the distance between some of the tokens, numbered 0, 1, 2, ... in their order."""
        return _Within(self, tokens)


class TableDistance(Distance):
    """Distances from a table [x1, x].

    >>> ring = TableDistance(torch.tensor([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]))
    >>> ring.rows(torch.tensor(3))
    tensor([1., 2., 1., 0.], dtype=torch.float64)
    """

    def __init__(self, table: Tensor) -> None:
        if table.dim() != 2 or table.shape[0] != table.shape[1]:
            raise FlowError(f"table: a square matrix of distances expected, got shape {tuple(table.shape)}")
        self._table, self.size = Table(table.double()), len(table)

    def rows(self, x1: Tensor) -> Tensor:
        return self._table.on(x1.device)[x1]

    def between(self, x: Tensor, x1: Tensor) -> Tensor:
        return self._table.on(x1.device)[x1, x]

    def within(self, tokens: Tensor) -> Distance:
        return TableDistance(self._table.values[tokens][:, tokens])


class EmbeddingDistance(Distance):
    """d(x, x1) = |emb(x) - emb(x1)|^lp, a power of the Euclidean distance. Rows are computed when they are needed.

    The embeddings are used as they are. Normalise them first if the codebook is compared by angle.

    >>> EmbeddingDistance(torch.tensor([0.0, 1.0, 3.0]), lp=2).rows(torch.tensor([0]))
    tensor([[0., 1., 9.]], dtype=torch.float64)
    """

    def __init__(self, embeddings: Tensor, lp: float) -> None:
        check_positive(lp, "lp")
        embeddings = (embeddings[:, None] if embeddings.dim() == 1 else embeddings).detach().double()
        self._embeddings, self.lp, self.size = Table(embeddings), lp, len(embeddings)
        squares = embeddings.square().sum(-1, keepdim=True)
        # |a - b|^2 = |a|^2 + |b|^2 - 2 ab as one product of matrices. In the unit ball it is wrong by less than 1e-14,
        # and so is d for lp >= 2. Elsewhere, and for smaller powers, the error could decide which token is nearest.
        self._factors = None
        if lp >= 2 and embeddings.shape[1] > 1 and bool((squares <= _UNIT).all()):
            ones = torch.ones_like(squares)
            factors = torch.cat([-2 * embeddings, squares, ones], -1), torch.cat([embeddings, ones, squares], -1).T
            self._factors = Table(factors[0]), Table(factors[1].contiguous())

    def rows(self, x1: Tensor) -> Tensor:
        if self._factors is None:
            embeddings = self._embeddings.on(x1.device)
            norms = torch.cdist(embeddings[x1], embeddings, compute_mode="donot_use_mm_for_euclid_dist")
            return self._power(norms.square_())
        left, right = (factor.on(x1.device) for factor in self._factors)
        squares = (left[x1] @ right).clamp_(min=0).scatter_(-1, x1[..., None], 0.0)
        return self._power(squares)

    def between(self, x: Tensor, x1: Tensor) -> Tensor:
        embeddings = self._embeddings.on(x1.device)
        return self._power((embeddings[x] - embeddings[x1]).square().sum(-1))

    def _power(self, squares: Tensor) -> Tensor:
        """Return the power of distances, given their squares; torch's own power is slow, except for 2 and 3."""
        return squares.square_() if self.lp == 4 else squares if self.lp == 2 else squares.sqrt_() ** self.lp

    def within(self, tokens: Tensor) -> Distance:
        return EmbeddingDistance(self._embeddings.values[tokens], self.lp)


class FunctionDistance(Distance):
    """Distances from a function of two broadcastable tensors of tokens (x, x1).

    >>> FunctionDistance(lambda x, x1: (x - x1).abs(), size=5).rows(torch.tensor(1))
    tensor([1, 0, 1, 2, 3])
    """

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor], size: int) -> None:
        self._function, self.size = function, size

    def rows(self, x1: Tensor) -> Tensor:
        return self._function(torch.arange(self.size, device=x1.device), x1[..., None])

    def between(self, x: Tensor, x1: Tensor) -> Tensor:
        return self._function(x, x1)


class _Within(Distance):
    """The distance between some tokens of another distance."""

    def __init__(self, distance: Distance, tokens: Tensor) -> None:
        self._distance, self._tokens, self.size = distance, Table(tokens), len(tokens)

    def rows(self, x1: Tensor) -> Tensor:
        tokens = self._tokens.on(x1.device)
        return self._distance.rows(tokens[x1])[..., tokens]

    def between(self, x: Tensor, x1: Tensor) -> Tensor:
        tokens = self._tokens.on(x1.device)
        return self._distance.between(tokens[x], tokens[x1])


_NEARLY_EQUAL = 1e-12  # of the median distance to the nearest token


def check_distance(distance: Distance, vocabulary: Vocabulary) -> None:
    """Raise unless the distance is a number >= 0 within each kind and zero only at x = x1. The error names the tokens.

    This finds dead or duplicate codes of a learned codebook: their distance is zero or almost zero.
    """
    if distance.size != vocabulary.size:
        raise FlowError(f"distance: made for {distance.size} tokens, but the vocabulary has {vocabulary.size}")
    kind_of, tokens = vocabulary.kind_of.values, torch.arange(vocabulary.size)
    data, nearest, neighbour = tokens[kind_of != NEVER_DATA], [], []
    for chunk in row_chunks(len(data), vocabulary.size):
        x1 = data[chunk]
        rows = distance.rows(x1)
        related, same = kind_of[x1][:, None] == kind_of, x1[:, None] == tokens
        for wrong, what in (
            (related & ~(rows >= 0), "is negative or NaN"),
            (related & (rows == torch.inf), "is infinite though both tokens are of one kind"),
            (same & (rows != 0), "is not zero from a token to itself"),
        ):
            if bool(wrong.any()):
                row, x = (int(index) for index in wrong.nonzero()[0])
                raise FlowError(f"distance: d({x}, {int(x1[row])}) = {rows[row, x].item():.6g} {what}")
        least = torch.where(related & ~same, rows, torch.inf).min(-1)
        nearest.append(least.values)
        neighbour.append(least.indices)
    _check_neighbours(data, torch.cat(nearest), torch.cat(neighbour))


def _check_neighbours(data: Tensor, nearest: Tensor, neighbour: Tensor) -> None:
    alone = nearest == torch.inf  # the only token of its kind
    if bool(alone.all()):
        return
    close = nearest <= _NEARLY_EQUAL * nearest[~alone].median()
    if bool(close.any()):
        pairs = ", ".join(f"({int(x1)}, {int(x)})" for x1, x in zip(data[close][:4], neighbour[close][:4], strict=True))
        raise FlowError(
            f"distance: {int(close.sum())} tokens are at distance zero, or as good as zero, from another: {pairs} ... "
            "(dead or duplicate codes?); leave them out of the vocabulary"
        )
