"""A corpus that was chosen: its module, its options, and what it says of itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config import Choice
from pipeline.config.chosen import chosen
from pipeline.config.plugins import CORPORA
from pipeline.text.document import Document
from pipeline.text.hub import HubOptions, hub_name


class CorpusChoice(Choice):
    """A corpus: a file in `pipeline/text/corpora`."""


@dataclass(frozen=True)
class Corpus:
    """A module of :mod:`pipeline.text.corpora` with its options."""

    name: str
    module: Any
    options: Any

    @classmethod
    def of(cls, choice: CorpusChoice) -> "Corpus":
        """Return the corpus that was chosen; a wrong name or option is a ValueError that says so."""
        return cls(choice.name, *chosen(CORPORA, choice))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that it really has; `all`: one stream."""
        found: tuple[str, ...] = (
            self.module.splits(self.options) if hasattr(self.module, "splits") else self.module.SPLITS
        )
        return found

    @property
    def files(self) -> tuple[str, ...]:
        """The names in the catalogue of the files that it is read from."""
        return tuple(getattr(self.module, "FILES", ()))

    @property
    def inputs(self) -> list[Path]:
        """The files of the user that it is read from."""
        return list(self.module.inputs(self.options)) if hasattr(self.module, "inputs") else []

    @property
    def hub_name(self) -> str | None:
        """The repository of the Hugging Face Hub that it is read from, if it is no directory."""
        return hub_name(self.options) if isinstance(self.options, HubOptions) else None

    def documents(self, cache: Path, split: str) -> Iterator[Document]:
        """Yield the documents of a split."""
        documents: Iterator[Document] = self.module.documents(self.options, cache, split)
        return documents

    def described(self) -> dict[str, Any]:
        """Return what a record says of it: its name, the revision that was read, and whether it was detokenised."""
        found = self.module.revision(self.options) if hasattr(self.module, "revision") else None
        described = {"corpus": self.name, "detokenised": getattr(self.module, "DETOKENISED", False)}
        return described | ({} if found is None else {"revision": found})
