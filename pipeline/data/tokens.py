"""Prepared data: token arrays of one length in named splits, and their vocabulary, in one safetensors file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pipeline.flow.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.tensors import read_tensors, write_tensors

SPLITS = ("train", "validation", "test")
_KIND_OF, _DISTANCES = "kind_of", "distances"


@dataclass(frozen=True)
class TokenData:
    """Tokens [N, D] for each of the splits, their vocabulary, and the data set's name and options.

    A data set may know how far apart its tokens are: `distances` [K, K], which metric paths go by.
    """

    train: Tensor
    validation: Tensor
    test: Tensor
    vocabulary: Vocabulary
    origin: dict[str, Any]
    distances: Tensor | None = None

    def __post_init__(self) -> None:
        for split in SPLITS:
            tokens = getattr(self, split)
            if tokens.dim() != 2 or not len(tokens) or tokens.shape[1] != self.train.shape[1]:
                raise KinoflowError(
                    f"{split}: sequences of one length expected, got {tuple(tokens.shape)}; give more data"
                )
            self.vocabulary.kinds_of(tokens.long())

    @property
    def length(self) -> int:
        """The number of tokens in a sequence."""
        return self.train.shape[1]

    def counts(self) -> Tensor:
        """Return how often each token occurs in the training split, [K]."""
        return torch.bincount(self.train.flatten().long(), minlength=self.vocabulary.size)

    def tokens_per_sequence(self) -> float:
        """Return how many tokens of a training sequence are not certain beforehand, as pads are, in the mean."""
        tokens_of = self.vocabulary.targets(torch.arange(self.vocabulary.kinds)).sum(-1)
        return float((tokens_of[self.vocabulary.kinds_of(self.train.long())] > 1).sum() / len(self.train))

    def save(self, path: Path) -> None:
        """Write the file; tokens take the smallest type that holds them."""
        dtype = torch.uint8 if self.vocabulary.size <= 256 else torch.int32
        tensors = {split: getattr(self, split).to(dtype) for split in SPLITS}
        tensors[_KIND_OF] = self.vocabulary.kind_of.values.to(torch.int16)
        tensors |= {} if self.distances is None else {_DISTANCES: self.distances.double()}
        write_tensors(path, "tokens", tensors, {"origin": self.origin, "mask": self.vocabulary.mask_token})

    @classmethod
    def load(cls, path: Path) -> "TokenData":
        """Read the file."""
        tensors, description = read_tensors(path, "tokens")
        train, validation, test = (tensors[split] for split in SPLITS)
        vocabulary = Vocabulary(tensors[_KIND_OF], description["mask"])
        return cls(train, validation, test, vocabulary, description["origin"], tensors.get(_DISTANCES))
