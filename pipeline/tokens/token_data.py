"""Prepared data: token arrays of one length in named splits, and their vocabulary, in one safetensors file.

The file is memory-mapped: a split may be larger than the memory, as long as nobody asks for all of it at once. All
tokens are checked once, before the file is written. The file says how often each token occurs.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.store.provenance import settings_hash
from pipeline.store.tensors import read_tensors, write_tensors

SPLITS = ("train", "validation", "test")
_KIND_OF, _DISTANCES, _EMBEDDINGS, _COUNTS = "kind_of", "distances", "embeddings", "counts"
_EVALUATION, _LABELS = "evaluation/", "labels/"
_AT_ONCE = 2**24  # tokens that are read together


class _Described(BaseModel):
    """What a file says besides its tensors."""

    model_config = ConfigDict(strict=True, extra="forbid")

    origin: dict[str, Any]
    mask: int | None
    tokenizer: str | None
    record: dict[str, Any]
    grid: tuple[int, int, int] | None
    classes: int


@dataclass(frozen=True)
class TokenData:
    """Tokens [N, D] for each of the splits, their vocabulary, and the data set's name and options.

    A data set may say how far apart its tokens are, for metric paths: by `distances` [K, K], or by `embeddings` [K, E]
    if there are many tokens. Text has the `tokenizer` (JSON of the `tokenizers` library), further sets for `evaluation`
    by name, and a `record` of what was read: documents, words, tokens. Images have a `grid`: the numbers of rows,
    columns and channels, in the order of the positions. They also have `labels`: for each split, the class [N] of each
    sequence, out of `classes`. Data from a file have been checked, and come with their `known_counts`.
    """

    train: Tensor
    validation: Tensor
    test: Tensor
    vocabulary: Vocabulary
    origin: dict[str, Any]
    distances: Tensor | None = None
    tokenizer: str | None = None
    evaluation: dict[str, Tensor] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    known_counts: Tensor | None = None
    embeddings: Tensor | None = None
    grid: tuple[int, int, int] | None = None
    labels: dict[str, Tensor] = field(default_factory=dict)
    classes: int = 0

    def __post_init__(self) -> None:
        for name, tokens in self._sets().items():
            if tokens.dim() != 2 or not len(tokens) or tokens.shape[1] != self.train.shape[1]:
                raise KinoflowError(
                    f"{name}: sequences of one length expected, got {tuple(tokens.shape)}; give more data"
                )
        if self.known_counts is None:
            self.check()

    @property
    def length(self) -> int:
        """The number of tokens in a sequence."""
        return self.train.shape[1]

    @property
    def vocabulary_hash(self) -> str:
        """A hash of what the tokens mean: weights trained on other tokens must not be used with these."""
        meaning: dict[str, Any] = {"kinds": self.vocabulary.kind_of.values.tolist(), "mask": self.vocabulary.mask_token}
        meaning |= {} if self.embeddings is None else {"embeddings": self.embeddings.tolist()}
        return settings_hash(meaning | {"tokenizer": self.tokenizer})

    @property
    def is_labelled(self) -> bool:
        """Whether the class of each sequence is known."""
        return bool(self.labels)

    def counts(self) -> Tensor:
        """Return how often each token occurs in the training split, [K]."""
        if self.known_counts is not None:
            return self.known_counts
        counts = torch.zeros(self.vocabulary.size, dtype=torch.int64)
        for rows in parts_of(self.train):
            counts += torch.bincount(rows.flatten(), minlength=self.vocabulary.size)
        return counts

    def tokens_per_sequence(self) -> float:
        """Return the mean number of uncertain tokens in a training sequence; pads, for example, are certain."""
        return float(self.counts()[self._uncertain].sum()) / len(self.train)

    def lengths(self) -> Tensor:
        """Return the number of tokens in each training sequence, without those at its end that are certain, [N]."""
        places = torch.arange(1, self.length + 1)
        return torch.cat([(self._uncertain[rows] * places).amax(-1).clamp(min=1) for rows in parts_of(self.train)])

    @property
    def _uncertain(self) -> Tensor:
        """Whether a token can be data together with others of its kind, [K]."""
        tokens_of = self.vocabulary.targets(torch.arange(self.vocabulary.kinds)).sum(-1)
        kind_of = self.vocabulary.kind_of.values
        return (kind_of >= 0) & (tokens_of[kind_of.clamp(min=0)] > 1)

    def save(self, path: Path) -> None:
        """Write the file; tokens take the smallest type that holds them."""
        size = self.vocabulary.size
        dtype = torch.uint8 if size <= 2**8 else torch.uint16 if size <= 2**16 else torch.int32
        tensors = {name: tokens.to(dtype) for name, tokens in self._sets().items()}
        tensors[_KIND_OF] = self.vocabulary.kind_of.values.to(torch.int16)
        tensors[_COUNTS] = self.counts()
        tensors |= {} if self.distances is None else {_DISTANCES: self.distances.double()}
        tensors |= {} if self.embeddings is None else {_EMBEDDINGS: self.embeddings.double()}
        tensors |= {_LABELS + split: labels.to(torch.int32) for split, labels in self.labels.items()}
        description = {
            "origin": self.origin,
            "mask": self.vocabulary.mask_token,
            "tokenizer": self.tokenizer,
            "record": self.record,
            "grid": self.grid,
            "classes": self.classes,
        }
        write_tensors(path, "tokens", tensors, description)

    @classmethod
    def load(cls, path: Path) -> "TokenData":
        """Read the file."""
        tensors, description = read_tensors(path, "tokens")
        again = "prepare them again"
        try:
            said = _Described.model_validate_json(json.dumps(description))  # JSON: a list is a tuple
        except ValidationError as error:
            raise KinoflowError(f"{path}: tokens of another version of this project, or damaged; {again}") from error
        if missing := [name for name in (*SPLITS, _KIND_OF, _COUNTS) if name not in tensors]:
            raise KinoflowError(f"{path}: lacks {missing[0]}, as of another version, or damaged; {again}")
        train, validation, test = (tensors[split] for split in SPLITS)
        _check_shapes(path, tensors)
        try:
            return cls(
                train,
                validation,
                test,
                Vocabulary(tensors[_KIND_OF], said.mask),
                said.origin,
                tensors.get(_DISTANCES),
                said.tokenizer,
                {name.removeprefix(_EVALUATION): one for name, one in tensors.items() if name.startswith(_EVALUATION)},
                said.record,
                tensors[_COUNTS],
                tensors.get(_EMBEDDINGS),
                said.grid,
                {name.removeprefix(_LABELS): rows.long() for name, rows in tensors.items() if name.startswith(_LABELS)},
                said.classes,
            )
        except KinoflowError as error:
            raise KinoflowError(f"{path}: {error}; {again}") from error

    def check(self) -> None:
        """Raise if a token is none of the vocabulary, or never data; a file of ours was checked when it was made."""
        for tokens in self._sets().values():
            for rows in parts_of(tokens):
                self.vocabulary.kinds_of(rows)

    def _sets(self) -> dict[str, Tensor]:
        further = {_EVALUATION + name: tokens for name, tokens in self.evaluation.items()}
        return {split: getattr(self, split) for split in SPLITS} | further


def _check_shapes(path: Path, tensors: dict[str, Tensor]) -> None:
    """Raise unless tokens are whole numbers, and what there is for each token is there for all of them."""
    size = len(tensors[_KIND_OF])
    shapes: dict[str, tuple[int, ...]] = {_COUNTS: (size,), _DISTANCES: (size, size)}
    for name, values in tensors.items():
        whole = name not in (_DISTANCES, _EMBEDDINGS)
        short = name == _EMBEDDINGS and len(values) != size
        if short or (whole and values.is_floating_point()) or tuple(values.shape) != shapes.get(name, values.shape):
            what = f"{name} of type {values.dtype} and shape {tuple(values.shape)}"
            raise KinoflowError(f"{path}: {what} do not fit {size} tokens; prepare them again")


def parts_of(tokens: Tensor) -> Iterator[Tensor]:
    """Yield the rows of tokens [N, D] as int64, some at a time, so that they need not all fit in memory."""
    for rows in tokens.split(max(1, _AT_ONCE // tokens.shape[1])):
        yield rows.long()
