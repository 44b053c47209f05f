"""Documents packed into blocks of one length: their tokens in a row, an end token after each, cut every `length`.

Tokens go to a file without a name that is then mapped into memory: they may be more than the memory holds, and nothing
is left behind, however the process ends.
"""

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pipeline.progress import LINE_EVERY
from pipeline.text.document import CorpusError, Document
from pipeline.text.tokenizer import PIECE, Tokenizer


class Packer:
    """The blocks of one set, and what went into them."""

    def __init__(self, name: str, tokenizer: Tokenizer, length: int, limit: int | None, folder: Path) -> None:
        self.name, self._tokenizer, self._length, self._limit = name, tokenizer, length, limit
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (closed once it is mapped)
        self._written = 0
        self._counts = dict.fromkeys(("documents", "characters", "bytes", "words", "tokens"), 0)
        self._has_words = True

    @property
    def room(self) -> int | None:
        """How many tokens are missing to the blocks that were asked for; None if all are wanted."""
        return None if self._limit is None else self._limit * self._length - self._written

    @property
    def full(self) -> bool:
        """Whether there are as many blocks as were asked for."""
        return self.room == 0

    @property
    def tokens(self) -> int:
        """The number of tokens that were added, without end tokens."""
        return self._counts["tokens"]

    def add(self, documents: list[Document]) -> None:
        """Add documents; those beyond the last block are counted and left out."""
        for document, tokens in zip(documents, self._tokenizer.encode([d.text for d in documents]), strict=True):
            self._counts["documents"] += 1
            self._counts["characters"] += len(document.text)
            self._counts["bytes"] += len(document.text.encode())
            self._counts["words"] += document.words or 0
            self._counts["tokens"] += len(tokens)
            self._has_words = self._has_words and document.words is not None
            self._write(np.append(tokens, np.array([self._tokenizer.end], tokens.dtype)))

    def blocks(self) -> Tensor:
        """Return the blocks [N, length], mapped from the file; none is an error."""
        count = self._written // self._length
        if not count:
            read = f"{self._counts['documents']} documents with {self.tokens} tokens"
            fix = "give more text, a smaller `length` or, for what is held out, a larger `held_out`"
            raise CorpusError(f"{self.name}: {read} do not fill one block of length = {self._length}; {fix}")
        with self._file:
            self._file.flush()
            # Copy on write: torch wants an array that could be written to.
            mapped = np.memmap(self._file, self._tokenizer.dtype, mode="c", shape=(count, self._length))
        return torch.from_numpy(mapped)

    def record(self) -> dict[str, Any]:
        """Return what was read, and what became of it, as JSON."""
        blocks, separators = self._written // self._length, self._counts["documents"]
        return self._counts | {
            "words": self._counts["words"] if self._has_words else None,
            "separators": separators,
            "blocks": blocks,
            "dropped": self.tokens + separators - blocks * self._length,
        }

    def _write(self, tokens: Any) -> None:
        kept = tokens[: self.room]
        self._file.write(kept.tobytes())
        self._written += len(kept)


def pack(documents: Iterable[tuple[Packer, Document]], packers: list[Packer], *, stop: bool) -> None:
    """Give each document to its packer, in batches; with `stop`, no more are read once all packers are full."""
    batches = {packer.name: _Batch(packer) for packer in packers}
    reading = _Reading(packers)
    for packer, document in documents:
        if stop and packer.full:
            continue
        if batches[packer.name].add(document, hurry=stop):
            reading.show()
            if stop and all(packer.full for packer in packers):
                break
    for batch in batches.values():
        batch.flush()
    reading.show(last=True)


class _Batch:
    """Documents that wait to be encoded together."""

    def __init__(self, packer: Packer) -> None:
        self._packer = packer
        self._documents: list[Document] = []
        self._characters = 0

    def add(self, document: Document, *, hurry: bool) -> bool:
        """Add a document; return whether that made the batch large enough to be passed on, or, in a hurry, to try."""
        self._documents.append(document)
        self._characters += len(document.text)
        room = self._packer.room
        enough = PIECE if room is None or not hurry else min(PIECE, 4 * room)  # a token is some four characters
        if self._characters < enough:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Pass the documents on."""
        self._packer.add(self._documents)
        self._documents, self._characters = [], 0


class _Reading:
    """Lines that say how far reading is; a stream's length is not known, so there is no share of it."""

    def __init__(self, packers: list[Packer]) -> None:
        self._packers = packers
        self._started = self._shown = time.monotonic()

    def show(self, *, last: bool = False) -> None:
        """Print a line now and then, and the last one."""
        now = time.monotonic()
        if last or now - self._shown >= LINE_EVERY:
            self._shown = now
            tokens = sum(packer.tokens for packer in self._packers)
            names = ", ".join(packer.name for packer in self._packers)
            rate = tokens / max(now - self._started, 1e-9)
            print(f"{names}: {tokens:,} tokens, {rate:,.0f}/s", file=sys.stderr, flush=True)


def in_order(packer: Packer, documents: Iterable[Document]) -> Iterator[tuple[Packer, Document]]:
    """Yield all documents for one packer."""
    return ((packer, document) for document in documents)
