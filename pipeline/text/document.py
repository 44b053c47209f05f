"""A document of a corpus, and the error for a corpus that cannot be read."""

from dataclasses import dataclass

from pipeline.errors import KinoflowError


class CorpusError(KinoflowError):
    """A corpus that cannot be read: which file or repository, what is wrong with it, and how to fix it."""


@dataclass(frozen=True)
class Document:
    """A text as people would write it, and its number of `words` if the corpus says what a word is.

    Perplexities per word count these: the tokens of the corpus as it is distributed, and one for each line end.
    """

    text: str
    words: int | None = None


def unknown_split(corpus: str, split: str, splits: tuple[str, ...]) -> CorpusError:
    """Return the error for a split that a corpus does not have."""
    return CorpusError(f"corpus {corpus!r}: has no split {split!r}, only {', '.join(splits)}; ask for one of these")
