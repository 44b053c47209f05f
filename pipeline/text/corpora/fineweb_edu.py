"""FineWeb-Edu: educational pages of the web, in samples of 10 to 350 billion GPT-2 tokens; one document per page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.text.document import Document, unknown_split
from pipeline.text.hub import HubOptions, inputs_of, revision_of, rows

__all__ = ["SPLITS", "Options", "documents", "inputs", "revision"]

SPLITS = ("all",)
revision, inputs = revision_of, inputs_of


class Options(HubOptions):
    """Where the corpus is read from, and which part of it."""

    repository: str = Field(
        "HuggingFaceFW/fineweb-edu",
        min_length=1,
        description="name of the repository, or a directory that holds a copy",
    )
    part: Literal["sample-10BT", "sample-100BT", "sample-350BT", "default"] = Field(
        "sample-10BT", description="sample of so many billion tokens; default: all"
    )


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the pages."""
    if split not in SPLITS:
        raise unknown_split("fineweb_edu", split, SPLITS)
    yield from (Document(page) for page in rows(options, options.part, "train") if page.strip())
