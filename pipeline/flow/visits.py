"""The visits of sequences to the network, in batches that are known before the first network evaluation.

Letters in shapes: B sequences, D tokens of each, V visits, M candidates.
"""

from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

LARGEST_PIECE = 1 << 15  # tokens that go through the network together: a bound on the memory


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
    """In which order sequences visit the network: those of one round together, in the order of their lengths.

    A sequence comes once for each of its events, in their order. The one with most events comes in every round, the
    others take breaks, so that all rounds have about as many sequences.

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
        [[0], [0, 1]]
        """
        span = int(steps.max()) + 1 if len(steps) else 1
        visits, visit_of = torch.unique(rows * span + steps, return_inverse=True)
        visited = visits // span
        rounds = _rounds(visited)
        order = torch.argsort(rounds * (int(lengths.max()) + 1) + lengths[visited], stable=True)
        visited, at_steps = visited[order], (visits % span)[order]
        sizes = _sizes(rounds[order], lengths[visited])
        starts = torch.tensor(sizes, dtype=torch.int64).cumsum(0) - torch.tensor(sizes, dtype=torch.int64)
        piece_of = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes, dtype=torch.int64))
        place_of = torch.empty_like(order)
        place_of[order] = torch.arange(len(order))
        place, kind = place_of[visit_of], kinds[rows, columns]
        by_piece = torch.argsort(piece_of[place] * count + kind, stable=True)
        place, kind = place[by_piece], kind[by_piece]
        numbers = torch.bincount(piece_of[place] * count + kind, minlength=len(sizes) * count).view(-1, count).tolist()
        pieces, first, start = [], 0, 0
        for size, of_kind, needed in zip(sizes, numbers, lengths[visited].split(sizes), strict=True):
            ends = list(accumulate(of_kind))
            parts: list[slice | Tensor] = [slice(end - number, end) for end, number in zip(ends, of_kind, strict=True)]
            candidates = slice(first, first + ends[-1])
            pieces.append(Piece(slice(start, start + size), candidates, int(needed[-1]), parts))
            first, start = candidates.stop, start + size
        slots = place - starts[piece_of[place]]
        return cls(visited, at_steps, slots, columns[by_piece], kind, pieces)


def _rounds(rows: Tensor) -> Tensor:
    """Return the round of each visit of sequences `rows` [V], which are sorted.

    The visits of a sequence are spread evenly over all rounds, and each sequence begins at another point.
    """
    if not len(rows):
        return rows
    sequences, index, visits = torch.unique_consecutive(rows, return_inverse=True, return_counts=True)
    event = torch.arange(len(rows)) - (visits.cumsum(0) - visits)[index]
    count = len(sequences)
    return (event * count + index) * visits.max() // (visits[index] * count)


def _sizes(rounds: Tensor, lengths: Tensor) -> list[int]:
    """Return how many of the ordered visits are in each piece: those of a round, or fewer if they have many tokens."""
    sizes: list[int] = []
    for needed in lengths.split(torch.bincount(rounds).tolist()):
        parts = -(-int(needed.sum()) // LARGEST_PIECE)
        sizes += [len(part) for part in needed.tensor_split(min(max(parts, 1), len(needed)))]
    return sizes
