"""WikiText: lines of words, some of them headings; an article goes from one title to the next."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from pipeline.text.detokenise import wikitext
from pipeline.text.document import Document

_TITLE = re.compile(r"= (?!= ).*(?<! =) =")


def articles(lines: Iterable[str]) -> Iterator[Document]:
    """Yield the articles, each from the empty line before its title on, so that the cut changes no token."""
    article: list[str] = []
    before, current = "", None
    for after in chain((line.strip() for line in lines), [None]):
        if current is not None:
            starts = _TITLE.fullmatch(current) and not before and not after
            if starts and any(article):
                # A newline after another stays a token of its own, but two at the end of a text would become one.
                opening = article.pop() if not article[-1] else None
                yield _document(article)
                article = [] if opening is None else [opening]
            article.append(current)
            before = current
        current = after
    if article:
        yield _document(article)


def _document(lines: list[str]) -> Document:
    text = "".join(f"{wikitext(line)}\n" for line in lines)
    return Document(text, sum(len(line.split()) + 1 for line in lines))
