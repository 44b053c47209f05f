"""Vocabularies whose tokens belong to kinds of positions.

One vocabulary serves every position of a sequence. Each data token has a kind; those of a crystal are lengths, angles,
fractions, elements and pad. Each position has a kind too, and holds data of that kind only. Kinds do not overlap, so
the data token x1 tells the kind of its position, and paths, losses and bounds need no layout. Only sampling starts
without x1, and must be told the kinds of the positions. A pad is a kind with a single token.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from pipeline.flow.checks import check_count, check_tokens, first, forbid
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError

Places = slice | Tensor  # some of N tokens, all of them or by their numbers

NEVER_DATA = -1  # the kind of tokens such as mask or begin-of-sequence


class Vocabulary:
    """K tokens, and for each the kind of positions where it can be data (-1: nowhere).

    >>> vocabulary = Vocabulary([0, 0, 1, 1, 1, -1])  # two kinds of positions and a mask
    >>> vocabulary.size, vocabulary.kinds, vocabulary.mask
    (6, 2, 5)
    >>> vocabulary.kinds_of(torch.tensor([[1, 4]]))
    tensor([[0, 1]])
    """

    def __init__(self, kind_of: Tensor | Sequence[int], mask: int | None = None) -> None:
        kind_of = torch.as_tensor(kind_of, dtype=torch.int64)
        present = set(kind_of.tolist()) - {NEVER_DATA}
        if kind_of.dim() != 1 or present != set(range(len(present))) or not present:
            raise FlowError(
                f"kind_of: kinds must be numbered 0, 1, 2, ... without gaps (-1: never data), got {present}"
            )
        if mask is not None and (not 0 <= mask < len(kind_of) or kind_of[mask] != NEVER_DATA):
            raise FlowError(f"mask: token {mask} must be in the vocabulary, and of no kind (-1)")
        never = (kind_of == NEVER_DATA).nonzero()
        self.mask_token = mask if mask is not None or not len(never) else int(never[-1])
        self.size = len(kind_of)
        self.kinds = len(present)
        self.kind_of = Table(kind_of)
        self._targets = Table(torch.stack([kind_of == kind for kind in range(self.kinds)]))

    @classmethod
    def single(cls, tokens: int, specials: int = 0) -> "Vocabulary":
        """Return a vocabulary of one kind: `tokens` data tokens, then `specials` tokens that are never data.

        >>> Vocabulary.single(256, specials=1).mask
        256
        """
        check_count(tokens, "tokens")
        return cls([0] * tokens + [NEVER_DATA] * specials)

    @property
    def mask(self) -> int:
        """The mask token: the one given as `mask`, or else the last of the tokens that are never data."""
        if self.mask_token is None:
            raise FlowError("vocabulary: a mask source needs a token that is never data; add one (specials=1)")
        return self.mask_token

    def kinds_of(self, x1: Tensor) -> Tensor:
        """Return the kinds of the positions that hold the data tokens `x1`."""
        check_tokens(x1, self.size, "x1")
        kinds = self.kind_of.on(x1.device)[x1]
        special = kinds == NEVER_DATA
        why = "never data (a mask or another special token)"
        forbid(special, f"x1: {{count}} tokens are {why}", lambda: f"x1: token {first(x1, special)} is {why}")
        return kinds

    def targets(self, kinds: Tensor) -> Tensor:
        """Return which tokens can be data at positions of `kinds`, bool[..., K]."""
        targets = self._targets.on(kinds.device)
        return targets[0].expand(*kinds.shape, -1) if self.kinds == 1 else targets[kinds]

    def places_of(self, x1: Tensor) -> list[Places]:
        """Return where the data tokens of each kind are in `x1`, like `places`."""
        return self.places(self.kinds_of(x1))

    def places(self, kinds: Tensor) -> list[Places]:
        """Return for each kind where it is in `kinds`, as numbers into the flattened tensor. This waits for the device.

        >>> Vocabulary([0, 0, 1, 1, 1, -1]).places(torch.tensor([[0, 1], [1, 1]]))
        [tensor([0]), tensor([1, 2, 3])]
        """
        if self.kinds == 1:
            return [slice(None)]
        return [(kinds.flatten() == kind).nonzero().squeeze(-1) for kind in range(self.kinds)]

    def columns(self, kind: int) -> Places:
        """Return the data tokens of a kind, as a slice if they are neighbours.

        >>> Vocabulary([0, 0, 1, 1, 1, -1]).columns(1)
        slice(2, 5, None)
        """
        tokens = (self.kind_of.values == kind).nonzero().squeeze(-1)
        first, last = int(tokens[0]), int(tokens[-1])
        return slice(first, last + 1) if len(tokens) == last + 1 - first else tokens
