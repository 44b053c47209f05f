"""A corpus: its documents, and the splits that they are in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import torch

from pipeline.config import NestedChoice
from pipeline.config.contracts import CorpusPlugin
from pipeline.config.plugins import CORPORA, Chosen
from pipeline.errors import KinoflowError
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import SPLITS


class CorpusError(KinoflowError):
    """A corpus that cannot be read: which file or repository, what is wrong with it, and how to fix it."""


@dataclass(frozen=True)
class Document:
    """A text as people would write it, and its number of `words` if the corpus says what a word is.

    Perplexities per word count these: the tokens of the corpus as it is distributed, and one for each line end.
    """

    text: str
    words: int | None = None

    @classmethod
    def of_lines(cls, lines: Sequence[str], detokenise: Callable[[str], str]) -> Self:
        """Return the document that was distributed as lines of words."""
        text = "".join(f"{detokenise(line)}\n" for line in lines)
        return cls(text, sum(len(line.split()) + 1 for line in lines))


class CorpusChoice(NestedChoice):
    """A corpus: a file in `pipeline/text/corpora`."""

    SOURCE = "pipeline.config.plugins.CORPORA"


class Corpus(Chosen[CorpusPlugin]):
    """A corpus with its options."""

    @classmethod
    def of(cls, choice: CorpusChoice) -> Self:
        """Return the chosen corpus; raise a ValueError for a wrong name or option."""
        return cls(**vars(CORPORA.chosen(choice)))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that it really has; `all` is one stream."""
        return self.plugin.splits(self.options)

    @property
    def missing(self) -> tuple[str, ...]:
        """The splits that have to be held out of its training documents."""
        return tuple(split for split in SPLITS if split != "train" and split not in self.splits)

    @property
    def origin(self) -> str:
        """Its name, and the user's files that it is read from, for messages."""
        files = list(self.inputs)
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return f"{self.name} ({files[0]}{more})" if files else self.name

    def documents(self, cache: Path, split: str) -> Iterator[Document]:
        """Yield the documents of a split."""
        if split not in self.splits:
            only = f"only {', '.join(self.splits)}; ask for one of these"
            raise CorpusError(f"corpus {self.name!r}: has no split {split!r}, {only}")
        return self.plugin.documents(self.options, cache, split)

    def training_documents(self, cache: Path) -> Iterator[Document]:
        """Yield the documents to train on, with those that are to be held out."""
        return self.documents(cache, "train" if "train" in self.splits else "all")

    def described(self) -> dict[str, Any]:
        """Return its part of a record: its name, whether it was detokenised, and the revision that was read."""
        found = self.plugin.revision(self.options)
        described = {"corpus": self.name, "detokenised": self.plugin.DETOKENISED}
        return described | ({} if found is None else {"revision": found})


class HeldOut:
    """Splits for a corpus that lacks some or all of its own: assigns each document to one, by its number.

    In each group of consecutive documents, one is held out for each missing split. It is drawn from the seed and the
    group's number, so a document's split is known as soon as it is read, and does not depend on how many there are.
    """

    def __init__(self, share: float, splits: tuple[str, ...], seed: int) -> None:
        self._group, self._splits, self._seed = round(1 / share), splits, seed
        self._places_of = lru_cache(maxsize=1)(self._draw)

    @property
    def rule(self) -> str:
        """The rule in words."""
        if not self._splits:
            return "the corpus's own splits"
        drawn = " and one for ".join(self._splits)
        return f"of every {self._group} documents in a row, one drawn at random for {drawn}"

    @property
    def meaning(self) -> list[object]:
        """All that decides where documents go."""
        return [self._group, *self._splits, self._seed]

    def split(self, document: int) -> str:
        """Return the split of a document: `train`, or one that is held out."""
        group, place = divmod(document, self._group)
        return self._places_of(group).get(place, "train")

    def _draw(self, group: int) -> dict[int, str]:
        # The first group draws among its first three documents, so that a corpus of three documents has all splits.
        among = self._group if group else min(self._group, 3)
        generator = torch.Generator().manual_seed(derive_seed(self._seed, "held out", group))
        places = torch.randperm(among, generator=generator)[: len(self._splits)].tolist()
        return dict(zip(places, self._splits, strict=True))
