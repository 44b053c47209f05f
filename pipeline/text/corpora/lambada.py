"""LAMBADA: passages of novels whose last word only the whole passage reveals; one document per passage, test only."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.config import Strict
from pipeline.text.corpus import Document
from pipeline.text.detokenise import lambada
from pipeline.text.reading import json_lines, text_in

FILES = ("lambada/lambada_test.jsonl",)
SPLITS = ("test",)
DETOKENISED = True


class Options(Strict):
    """There is nothing to choose."""


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the passages with their last words."""
    for row, where in json_lines(cache / FILES[0]):
        yield Document(lambada(text_in(row, "text", where)))
