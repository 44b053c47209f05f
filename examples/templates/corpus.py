"""A corpus of text: one document per line of the user's file. Copy to pipeline/text/corpora/lines.py, and change it.

In the configuration: `data: {name: text, corpus: {name: lines, path: my.txt}, ...}`.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from pipeline.config import Strict
from pipeline.text.corpus import Document

SPLITS = ("all",)  # one stream: validation and test are held out of it


class Options(Strict):
    """Where the lines are."""

    path: Path = Field(description="text file in UTF-8")


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the documents."""
    with options.path.open(encoding="utf-8") as stream:
        yield from (Document(line.strip()) for line in stream if line.strip())
