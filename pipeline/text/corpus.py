"""The chosen corpus."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pipeline.config import NestedChoice
from pipeline.config.contracts import CorpusPlugin
from pipeline.config.plugins import CORPORA, Chosen
from pipeline.text.document import Document
from pipeline.text.hub import HubOptions, hub_name


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
    def hub_names(self) -> list[str]:
        """The repository on the Hugging Face Hub that it is read from, unless it is read from a directory."""
        name = hub_name(self.options) if isinstance(self.options, HubOptions) else None
        return super().hub_names if name is None else [name]

    def documents(self, cache: Path, split: str) -> Iterator[Document]:
        """Yield the documents of a split."""
        return self.plugin.documents(self.options, cache, split)

    def described(self) -> dict[str, Any]:
        """Return its part of a record: its name, whether it was detokenised, and the revision that was read."""
        found = self.plugin.revision(self.options)
        described = {"corpus": self.name, "detokenised": self.plugin.DETOKENISED}
        return described | ({} if found is None else {"revision": found})
