"""OpenWebText: pages that were linked from Reddit, 9 billion GPT-2 tokens; one document per page."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from pipeline.text.document import Document, unknown_split
from pipeline.text.hub import HubOptions, inputs_of, revision_of, rows

__all__ = ["SPLITS", "Options", "documents", "inputs", "revision"]

SPLITS = ("all",)
revision, inputs = revision_of, inputs_of


class Options(HubOptions):
    """Where the corpus is read from."""

    repository: str = Field(
        "Skylion007/openwebtext", min_length=1, description="name of the repository, or a directory that holds a copy"
    )


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the pages."""
    if split not in SPLITS:
        raise unknown_split("openwebtext", split, SPLITS)
    yield from (Document(page) for page in rows(options, None, "train") if page.strip())
