"""WikiText-2, raw: the validation and test articles of Wikipedia; one document per article."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.config import Strict
from pipeline.text.document import Document, unknown_split
from pipeline.text.reading import whole_text
from pipeline.text.wikitext import articles

FILES = ("wikitext-2/wiki.valid.raw", "wikitext-2/wiki.test.raw")
SPLITS = ("validation", "test")
DETOKENISED = True


class Options(Strict):
    """There is nothing to choose."""


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the articles of a split."""
    if split not in SPLITS:
        raise unknown_split("wikitext2", split, SPLITS)
    text = whole_text(cache / FILES[SPLITS.index(split)])
    yield from articles(text.removesuffix("\n").split("\n"))
