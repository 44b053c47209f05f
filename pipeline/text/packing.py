"""Documents packed into blocks: their tokens are joined, with an end token after each, and cut every `length` tokens.

Tokens go to a file that is then mapped into memory, as they may not fit into it. The file has no name, so nothing is
left behind. With a journal, files have names and packing can resume after an interruption.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from pipeline.store.atomic import write_json
from pipeline.store.progress import LINE_EVERY
from pipeline.store.provenance import note_resumption
from pipeline.text.corpus import CorpusError, Document
from pipeline.text.tokenizer import PIECE, Tokenizer

TOGETHER = 20_000  # documents after which all waiting ones are packed


class Packer:
    """The blocks of one set, what went into them, and the documents that wait to be encoded together."""

    def __init__(
        self, name: str, tokenizer: Tokenizer, length: int, limit: int | None, folder: Path, file: Path | None = None
    ) -> None:
        self.name, self._tokenizer, self._length, self._limit = name, tokenizer, length, limit
        # Closed once it is mapped. `restore` continues a file that already exists.
        self._file: IO[bytes] = file.open("a+b") if file else tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._written, self._has_words = 0, True
        self._counts = dict.fromkeys(("documents", "characters", "bytes", "words", "tokens"), 0)
        self._waiting: list[Document] = []
        self._waiting_characters = 0

    @property
    def room(self) -> int | None:
        """How many more tokens the wanted blocks need; None if all blocks are wanted."""
        return None if self._limit is None else self._limit * self._length - self._written

    @property
    def full(self) -> bool:
        """Whether there are as many blocks as wanted."""
        return self.room == 0

    @property
    def tokens(self) -> int:
        """The number of tokens added, without end tokens."""
        return self._counts["tokens"]

    def take(self, document: Document, *, hurry: bool) -> bool:
        """Let a document wait; return whether all were added. In a `hurry`, what may fill the blocks is enough."""
        self._waiting.append(document)
        self._waiting_characters += len(document.text)
        room = self.room
        enough = PIECE if room is None or not hurry else min(PIECE, 4 * room)  # a token has about four characters
        if self._waiting_characters < enough:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Add the documents that wait."""
        self.add(self._waiting)
        self._waiting, self._waiting_characters = [], 0

    def add(self, documents: list[Document]) -> None:
        """Add documents; those beyond the last block are counted and left out."""
        for document, tokens in zip(documents, self._tokenizer.encode([d.text for d in documents]), strict=True):
            self._counts["documents"] += 1
            self._counts["characters"] += len(document.text)
            self._counts["bytes"] += len(document.text.encode())
            self._counts["words"] += document.words or 0
            self._counts["tokens"] += len(tokens)
            self._has_words = self._has_words and document.words is not None
            kept = np.append(tokens, np.array([self._tokenizer.end], tokens.dtype))[: self.room]
            self._file.write(kept.tobytes())
            self._written += len(kept)

    def blocks(self, origin: str) -> Tensor:
        """Return the blocks [N, length], mapped from the file; raise an error about their origin if there are none."""
        count = self._written // self._length
        if not count:
            read = f"{self._counts['documents']} documents with {self.tokens} tokens"
            fix = "give more text, a smaller `length` or, for what is held out, a larger `held_out`"
            raise CorpusError(
                f"{self.name} of {origin}: {read} do not fill one block of length = {self._length}; {fix}"
            )
        with self._file:
            self._file.flush()
            # Not copy-on-write, which Linux refuses for files larger than the memory; torch wants a writable map.
            mapped = np.memmap(self._file, self._tokenizer.dtype, mode="r+", shape=(count, self._length))
        return torch.from_numpy(mapped)

    def state(self) -> dict[str, Any]:
        """Write all that was added to the disk, and return what `restore` needs."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"written": self._written, "counts": self._counts, "has_words": self._has_words}

    def restore(self, state: dict[str, Any] | None) -> None:
        """Go back to a state and drop what was written after it; None: to the beginning."""
        state = state or {"written": 0, "counts": dict.fromkeys(self._counts, 0), "has_words": True}
        self._written, self._counts, self._has_words = state["written"], dict(state["counts"]), state["has_words"]
        self._file.truncate(self._bytes_of(state))

    def has(self, state: dict[str, Any]) -> bool:
        """Return whether the file still has all that was written to it up to a state."""
        return os.fstat(self._file.fileno()).st_size >= self._bytes_of(state)

    def _bytes_of(self, state: dict[str, Any]) -> int:
        return int(state["written"]) * int(np.dtype(self._tokenizer.dtype).itemsize)

    def record(self) -> dict[str, Any]:
        """Return what was read and packed, in numbers, as JSON."""
        blocks, separators = self._written // self._length, self._counts["documents"]
        return self._counts | {
            "words": self._counts["words"] if self._has_words else None,
            "separators": separators,
            "blocks": blocks,
            "dropped": self.tokens + separators - blocks * self._length,
        }


class PackingJournal:
    """A folder of token files, and the number of documents that went into them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._state = folder, folder / "state.json"

    def file(self, name: str) -> Path:
        """Return the file for the tokens of a set."""
        return self._folder / f"{name}.tokens"

    def resume(self, packers: list[Packer]) -> int:
        """Bring the packers to the last saved state, and return its number of documents; 0: from the beginning."""
        state = json.loads(self._state.read_text(encoding="utf-8")) if self._state.is_file() else None
        if state and not all(packer.has(state["sets"][packer.name]) for packer in packers):
            state = None
        for packer in packers:
            packer.restore(state["sets"][packer.name] if state else None)
        if state:
            note_resumption(str(self._folder))
            print(f"going on after {state['documents']:,} documents in {self._folder}", file=sys.stderr, flush=True)
        return int(state["documents"]) if state else 0

    def save(self, documents: int, packers: list[Packer]) -> None:
        """Save the state after so many documents."""
        write_json(self._state, {"documents": documents, "sets": {packer.name: packer.state() for packer in packers}})

    def remove(self) -> None:
        """Remove the folder; mapped files stay readable."""
        shutil.rmtree(self._folder)


def pack(
    documents: Iterable[tuple[Packer, Document]],
    packers: list[Packer],
    *,
    stop: bool,
    journal: PackingJournal | None = None,
) -> None:
    """Give each document to its packer, in batches; with `stop`, stop reading once all packers are full.

    With a journal, skip the documents that it says are packed, and save the state now and then.
    """
    started = shown = time.monotonic()
    start = journal.resume(packers) if journal else 0
    for number, (packer, document) in enumerate(islice(documents, start, None), start + 1):
        added = not (stop and packer.full) and packer.take(document, hurry=stop)
        if number % TOGETHER == 0:  # at fixed places, so that an interruption makes no difference
            for one in packers:
                one.flush()
            if journal:
                journal.save(number, packers)
        if added or number % TOGETHER == 0:
            if time.monotonic() - shown >= LINE_EVERY:
                shown = time.monotonic()
                _print_progress(packers, shown - started)
            if stop and all(one.full for one in packers):
                break
    for one in packers:
        one.flush()
    _print_progress(packers, time.monotonic() - started)


def _print_progress(packers: list[Packer], seconds: float) -> None:
    """Print how many tokens there are; a stream's length is not known, so there is no percentage."""
    tokens = sum(packer.tokens for packer in packers)
    names = ", ".join(packer.name for packer in packers)
    print(f"{names}: {tokens:,} tokens, {tokens / max(seconds, 1e-9):,.0f}/s", file=sys.stderr, flush=True)


def in_order(packer: Packer, documents: Iterable[Document]) -> Iterator[tuple[Packer, Document]]:
    """Yield all documents for one packer."""
    return ((packer, document) for document in documents)
