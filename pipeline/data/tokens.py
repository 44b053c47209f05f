"""Prepared data: token arrays of one length in named splits, and their vocabulary, in one safetensors file."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from pipeline.atomic import replacing
from pipeline.flow.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary

SPLITS = ("train", "validation", "test")
_KIND_OF = "kind_of"


@dataclass(frozen=True)
class TokenData:
    """Tokens [N, D] for each of the splits, their vocabulary, and the data set's name and options."""

    train: Tensor
    validation: Tensor
    test: Tensor
    vocabulary: Vocabulary
    origin: dict[str, Any]

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

    def save(self, path: Path) -> None:
        """Write the file; tokens take the smallest type that holds them."""
        dtype = torch.uint8 if self.vocabulary.size <= 256 else torch.int32
        tensors = {split: getattr(self, split).to(dtype).contiguous() for split in SPLITS}
        tensors[_KIND_OF] = self.vocabulary.kind_of.values.to(torch.int16)
        with replacing(path) as temporary:
            metadata = {"origin": json.dumps(self.origin), "mask": json.dumps(self.vocabulary.mask_token)}
            save_file(tensors, temporary, metadata=metadata)

    @classmethod
    def load(cls, path: Path) -> "TokenData":
        """Read the file."""
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in (*SPLITS, _KIND_OF)}
            origin, mask = (json.loads(file.metadata()[key]) for key in ("origin", "mask"))
        train, validation, test = (tensors[split] for split in SPLITS)
        return cls(train, validation, test, Vocabulary(tensors[_KIND_OF], mask), origin)
