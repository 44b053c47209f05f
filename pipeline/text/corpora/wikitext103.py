"""WikiText-103, raw: articles of Wikipedia, 100 million words; validation and test are those of WikiText-2."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.text.corpora.wikitext2 import articles
from pipeline.text.corpus import Document
from pipeline.text.reading import HubOptions, Repository, hub_names_of, inputs_of, revision_of, rows

SPLITS = ("train", "validation", "test")
DETOKENISED = True
revision, inputs, hub_names = revision_of, inputs_of, hub_names_of


class Options(HubOptions):
    """Where the corpus is read from."""

    repository: Repository = "Salesforce/wikitext"


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the articles of a split."""
    return articles(rows(options, "wikitext-103-raw-v1", split))
