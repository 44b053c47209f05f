"""WikiText-103, raw: articles of Wikipedia, 100 million words; validation and test are those of WikiText-2."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from pipeline.text.document import Document, unknown_split
from pipeline.text.hub import HubOptions, inputs_of, revision_of, rows
from pipeline.text.wikitext import articles

__all__ = ["DETOKENISED", "SPLITS", "Options", "documents", "inputs", "revision"]

SPLITS = ("train", "validation", "test")
DETOKENISED = True
revision, inputs = revision_of, inputs_of


class Options(HubOptions):
    """Where the corpus is read from."""

    repository: str = Field(
        "Salesforce/wikitext", min_length=1, description="name of the repository, or a directory that holds a copy"
    )


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the articles of a split."""
    if split not in SPLITS:
        raise unknown_split("wikitext103", split, SPLITS)
    yield from articles(rows(options, "wikitext-103-raw-v1", split))
