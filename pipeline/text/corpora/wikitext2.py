"""WikiText-2, raw: the validation and test articles of Wikipedia; one document per article."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from pipeline.config import Strict
from pipeline.text.corpus import Document
from pipeline.text.detokenise import wikitext
from pipeline.text.reading import lines_of

FILES = ("wikitext-2/wiki.valid.raw", "wikitext-2/wiki.test.raw")
SPLITS = ("validation", "test")
DETOKENISED = True
_TITLE = re.compile(r"= (?!= ).*(?<! =) =")


class Options(Strict):
    """There is nothing to choose."""


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the articles of a split."""
    return articles(lines_of(cache / FILES[SPLITS.index(split)]))


def articles(lines: Iterable[str]) -> Iterator[Document]:
    """Yield the articles, each from the empty line before its title on, so that the cut changes no token."""
    article: list[str] = []
    before, current = "", None
    for after in chain((line.strip() for line in lines), [None]):
        if current is not None:
            starts = _TITLE.fullmatch(current) and not before and not after
            if starts and any(article):
                # A newline after another stays a token of its own, but two at the end of a text would become one.
                opening = [article.pop()] if not article[-1] else []
                yield Document.of_lines(article, wikitext)
                article = opening
            article.append(current)
            before = current
        current = after
    if article:
        yield Document.of_lines(article, wikitext)
