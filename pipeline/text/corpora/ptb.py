"""The Penn Treebank as T. Mikolov prepared it: news in lower case, 10,000 words; one document per split."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.config import Strict
from pipeline.text.corpus import Document
from pipeline.text.detokenise import ptb, ptb_peers
from pipeline.text.reading import lines_of

FILES = ("ptb/ptb.train.txt", "ptb/ptb.valid.txt", "ptb/ptb.test.txt")
SPLITS = ("train", "validation", "test")
DETOKENISED = True


class Options(Strict):
    """How its sentences are written."""

    detokeniser: Literal["plain", "peers"] = Field(
        "plain", description="peers: as in SEDD's and MDLM's evaluations, with 1 for each N and ? for each <unk>"
    )


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the split as one document: sentences are in the order of the articles, but nothing marks their ends."""
    detokenise = ptb_peers if options.detokeniser == "peers" else ptb
    yield Document.of_lines(lines_of(cache / FILES[SPLITS.index(split)]), detokenise)
