"""The One Billion Word benchmark: sentences of news in random order; one document per sentence."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from pipeline.text.detokenise import one_billion_words
from pipeline.text.document import Document, unknown_split
from pipeline.text.hub import HubOptions, inputs_of, revision_of, rows

__all__ = ["DETOKENISED", "SPLITS", "Options", "documents", "inputs", "revision"]

SPLITS = ("train", "test")
DETOKENISED = True
revision, inputs = revision_of, inputs_of


class Options(HubOptions):
    """Where the corpus is read from."""

    # The original repository needs a script, which `datasets` no longer runs. This one has the same rows as parquet.
    repository: str = Field(
        "dvruette/lm1b", min_length=1, description="name of the repository, or a directory that holds a copy"
    )


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the sentences of a split."""
    if split not in SPLITS:
        raise unknown_split("one_billion_words", split, SPLITS)
    for sentence in rows(options, None, split):
        if sentence.strip():
            yield Document(one_billion_words(sentence), len(sentence.split()) + 1)
