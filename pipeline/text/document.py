"""A document of a corpus, and the error of a corpus that cannot be read."""

from dataclasses import dataclass

from pipeline.errors import KinoflowError


class CorpusError(KinoflowError):
    """A corpus that cannot be read: which file or repository, what is wrong with it, and how to mend it."""


@dataclass(frozen=True)
class Document:
    """A text as people would write it, and its number of `words` where the corpus says what a word is.

    The words are those of perplexities per word: the tokens of the corpus as it is distributed, and one for each end of
    a line.
    """

    text: str
    words: int | None = None


def unknown_split(corpus: str, split: str, splits: tuple[str, ...]) -> CorpusError:
    """Return the error of asking a corpus for a split that it does not have."""
    return CorpusError(f"corpus {corpus!r}: has no split {split!r}, only {', '.join(splits)}; ask for one of these")
