"""FineWeb-Edu: educational pages of the web, in samples of 10 to 350 billion GPT-2 tokens; one document per page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.text.corpus import Document
from pipeline.text.reading import HubOptions, Repository, hub_names_of, inputs_of, revision_of, rows

SPLITS = ("all",)
revision, inputs, hub_names = revision_of, inputs_of, hub_names_of


class Options(HubOptions):
    """Where the corpus is read from, and which part of it."""

    repository: Repository = "HuggingFaceFW/fineweb-edu"
    part: Literal["sample-10BT", "sample-100BT", "sample-350BT", "default"] = Field(
        "sample-10BT", description="sample of so many billion tokens; default: all"
    )


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the pages."""
    return (Document(page) for page in rows(options, options.part, "train") if page.strip())
