"""Networks for crystals by name, and the order of a crystal's tokens: 6 for the cell, 4 for each atom, then pads.

Networks find what they need to know in the vocabulary. The pad is the only kind with a single token. The token that
begins a sequence is the last one before the mask that is never data.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.crystals.tokens import CELL, PER_ATOM
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import NEVER_DATA, Vocabulary


@dataclass(frozen=True)
class CrystalLayout:
    """The largest number of atoms in a crystal, and the pad's token and kind."""

    atoms: int
    pad_token: int
    pad_kind: int

    @classmethod
    def of(cls, vocabulary: Vocabulary, length: int) -> "CrystalLayout":
        """Return the layout of sequences of `length` tokens; raise an error if they cannot be crystals."""
        atoms, rest = divmod(length - CELL, PER_ATOM)
        if atoms < 1 or rest:
            raise KinoflowError(
                f"length: a crystal has {CELL} + {PER_ATOM} a tokens for at most a >= 1 atoms, "
                f"got {length}; choose a data set of crystals or another model"
            )
        kind_of = vocabulary.kind_of.values
        sizes = torch.bincount(kind_of[kind_of != NEVER_DATA], minlength=vocabulary.kinds)
        single = (sizes == 1).nonzero().flatten().tolist()
        if len(single) != 1:
            raise KinoflowError(
                f"vocabulary: that of crystals has one kind with a single token, the pad, got {len(single)} such kinds "
                f"of {vocabulary.kinds}; choose a data set of crystals or another model"
            )
        return cls(atoms, int((kind_of == single[0]).nonzero()), single[0])


def present_atoms(tokens: Tensor, pad: int) -> Tensor:
    """Return which atoms of `tokens` [B, D] (or of their kinds, with the pad's kind) are not pads, bool [B, a]."""
    return tokens[:, CELL::PER_ATOM] != pad


def begin_token(vocabulary: Vocabulary) -> int:
    """Return the token that begins a sequence."""
    before = (vocabulary.kind_of.values[: vocabulary.mask] == NEVER_DATA).nonzero()
    if not len(before):
        raise KinoflowError(
            "vocabulary: an autoregressive model begins with a token that is never data and comes before the mask, "
            "and there is none; choose a data set of crystals or another model"
        )
    return int(before[-1])
