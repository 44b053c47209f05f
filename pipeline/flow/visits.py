"""The visits of sequences to the network, in batches that are known before the first network evaluation.

Letters in shapes: B sequences, D tokens of each, V visits, M candidates.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

PIECES = 4  # at most, into which a batch is split by length
SMALLEST_PIECE = 16  # sequences


@dataclass(frozen=True)
class Piece:
    """Sequences that go through the network together: a part of the visits and of the candidates of a schedule.

    No sequence has anything to generate from the column `width` on. `of_kinds` are the candidates of each kind.
    """

    visits: slice
    candidates: slice
    width: int
    of_kinds: list[slice | Tensor]


@dataclass(frozen=True)
class Schedule:
    """In which order sequences visit the network: first for the first event of each, then for the second, and so on.

    `rows` and `steps` [V]: the sequence of each visit, and the step it is at. `slots` and `columns` [M]: where the
    candidates are in their piece; `kinds` [M]. It is made on the host, so that the sampler's loop waits for nothing.
    """

    rows: Tensor
    steps: Tensor
    slots: Tensor
    columns: Tensor
    kinds: Tensor
    pieces: list[Piece]

    @classmethod
    def of(cls, rows: Tensor, columns: Tensor, steps: Tensor, kinds: Tensor, count: int, lengths: Tensor) -> "Schedule":
        """Return the schedule of candidates [M].

        `kinds` [B, D] are those of all tokens, numbers below `count`. A sequence needs `lengths` [B] columns.

        >>> rows, columns, steps = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]), torch.tensor([3, 5, 2])
        >>> schedule = Schedule.of(rows, columns, steps, torch.zeros(2, 2).long(), 1, torch.tensor([2, 2]))
        >>> [schedule.rows[piece.visits].tolist() for piece in schedule.pieces]
        [[0, 1], [0]]
        """
        span = int(steps.max()) + 1 if len(steps) else 1
        visits, visit_of = torch.unique(rows * span + steps, return_inverse=True)
        visited = visits // span
        rank = torch.arange(len(visits)) - torch.searchsorted(visited, visited)  # number of the event in its sequence
        order = torch.argsort(rank * (int(lengths.max()) + 1) + lengths[visited], stable=True)
        visited, at_steps = visited[order], (visits % span)[order]
        piece_of, start_of, widths = _pieces(rank, lengths[visited])
        place_of = torch.empty_like(order)
        place_of[order] = torch.arange(len(order))
        place, kind = place_of[visit_of], kinds[rows, columns]
        by_piece = torch.argsort(piece_of[place] * count + kind, stable=True)
        place, kind = place[by_piece], kind[by_piece]
        sizes = torch.bincount(piece_of[place] * count + kind, minlength=len(widths) * count).view(-1, count).tolist()
        pieces, first = [], 0
        for width, start, end, of_kind in zip(widths, start_of, [*start_of[1:], len(order)], sizes, strict=True):
            ends = [sum(of_kind[: number + 1]) for number in range(count)]
            parts: list[slice | Tensor] = [slice(end - size, end) for end, size in zip(ends, of_kind, strict=True)]
            pieces.append(Piece(slice(start, end), slice(first, first + ends[-1]), width, parts))
            first += ends[-1]
        slots = place - torch.tensor(start_of, dtype=torch.int64)[piece_of[place]]
        return cls(visited, at_steps, slots, columns[by_piece], kind, pieces)


def _pieces(rank: Tensor, lengths: Tensor) -> tuple[Tensor, list[int], list[int]]:
    """Return the number of the piece of each ordered visit, where each piece starts, and how many columns it needs."""
    most = PIECES if len(lengths) and bool(lengths.min() < lengths.max()) else 1
    start_of: list[int] = []
    widths: list[int] = []
    piece_of, start = torch.empty_like(rank), 0
    for size in torch.bincount(rank).tolist():
        for part in torch.arange(start, start + size).tensor_split(max(1, min(most, size // SMALLEST_PIECE))):
            piece_of[part] = len(start_of)
            start_of.append(int(part[0]))
            widths.append(int(lengths[part].max()))
        start += size
    return piece_of, start_of, widths
