"""OpenWebText: pages that were linked from Reddit, 9 billion GPT-2 tokens; one document per page."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.text.corpus import Document
from pipeline.text.reading import HubOptions, Repository, hub_names_of, inputs_of, revision_of, rows

SPLITS = ("all",)
revision, inputs, hub_names = revision_of, inputs_of, hub_names_of


class Options(HubOptions):
    """Where the corpus is read from."""

    repository: Repository = "Skylion007/openwebtext"


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the pages."""
    return (Document(page) for page in rows(options, None, "train") if page.strip())
