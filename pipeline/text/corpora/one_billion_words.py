"""The One Billion Word benchmark: sentences of news in random order; one document per sentence."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.text.corpus import Document
from pipeline.text.detokenise import one_billion_words
from pipeline.text.reading import HubOptions, Repository, hub_names_of, inputs_of, revision_of, rows

SPLITS = ("train", "test")
DETOKENISED = True
revision, inputs, hub_names = revision_of, inputs_of, hub_names_of


class Options(HubOptions):
    """Where the corpus is read from."""

    # The original repository needs a script, which `datasets` no longer runs. This one has the same rows as parquet.
    repository: Repository = "dvruette/lm1b"


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the sentences of a split."""
    for sentence in rows(options, None, split):
        if sentence.strip():
            yield Document(one_billion_words(sentence), len(sentence.split()) + 1)
