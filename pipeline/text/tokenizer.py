"""A byte-level tokenizer, from text to tokens and back: it can encode every text and show every token."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.tokens.token_data import TokenData

END = "<|endoftext|>"
MASK = "█"  # how tokens that are never data are shown
PIECE = 2**18  # characters that are encoded together; the library needs about a hundred bytes for each

# A word never continues from visible text into a space, so cutting there changes no token.
_PLACE_TO_CUT = re.compile(r"(?<=\S)(?=\s)")


class Tokenizer:
    """Byte-pair encoding with `size` tokens; one of them is `end`, which follows each document."""

    def __init__(self, implementation: tokenizers.Tokenizer, name: str = "tokenizer") -> None:
        end = implementation.token_to_id(END)
        if end is None:
            raise KinoflowError(f"{name}: has no token {END}; add it to the vocabulary")
        self._implementation = implementation
        self.end: int = end
        self.size: int = implementation.get_vocab_size()
        # A byte without a token would be dropped silently, and the likelihood would be that of another text.
        lacking = [character for character in byte_characters() if implementation.token_to_id(character) is None]
        if lacking or set(implementation.get_vocab().values()) != set(range(self.size)):
            what = f"{len(lacking)} of the 256 bytes have no token" if lacking else "token numbers have gaps"
            raise KinoflowError(f"{name}: {what}; give a byte-level tokenizer")

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """Return the tokenizer that `json` describes."""
        try:
            return cls(tokenizers.Tokenizer.from_str(text))
        except Exception as error:  # the library raises nothing more specific
            if isinstance(error, KinoflowError):
                raise
            raise KinoflowError(
                f"tokenizer: not one of the tokenizers library ({error}); prepare the data anew"
            ) from error

    @cached_property
    def json(self) -> str:
        """The tokenizer as JSON of the tokenizers library, the same text for the same tokenizer."""
        return json.dumps(json.loads(self._implementation.to_str()), sort_keys=True, ensure_ascii=False)

    @property
    def dtype(self) -> Any:
        """The smallest type for tokens that also holds a mask."""
        return np.uint16 if self.size < 2**16 else np.int32

    def encode(self, texts: Sequence[str]) -> list[NDArray[Any]]:
        """Return the tokens of each text; the end token is not among them, even if a text spells it out."""
        pieces = [list(_pieces(text)) for text in texts]
        encoded = self._encode_in_batches([piece for text in pieces for piece in text])
        joined = ([next(encoded) for _ in text] for text in pieces)
        return [np.concatenate(parts) if parts else np.zeros(0, self.dtype) for parts in joined]

    def decode(self, tokens: Tensor) -> list[str]:
        """Return the text of each row of tokens [N, D]; invalid UTF-8 is shown as U+FFFD, a mask as a block."""
        mask = MASK.encode()
        rows = tokens.long().tolist()
        in_bytes = (b"".join(self._bytes[t] if 0 <= t < self.size else mask for t in row) for row in rows)
        return [row.decode("utf-8", errors="replace") for row in in_bytes]

    def _encode_in_batches(self, pieces: list[str]) -> Iterator[NDArray[Any]]:
        batch: list[str] = []
        size = 0
        for piece in [*pieces, None]:
            if piece is None or size + len(piece) > PIECE:
                encodings = self._implementation.encode_batch_fast(batch, add_special_tokens=False)
                yield from (np.array(encoding.ids, dtype=self.dtype) for encoding in encodings)
                batch, size = [], 0
            if piece is not None:
                batch.append(piece)
                size += len(piece)

    @cached_property
    def _bytes(self) -> list[bytes]:
        byte_of = {character: bytes([byte]) for byte, character in enumerate(byte_characters())}
        vocabulary = sorted(self._implementation.get_vocab().items(), key=lambda item: item[1])
        return [b"".join(byte_of.get(c, c.encode()) for c in token) for token, _ in vocabulary]


def tokenizer_of(data: TokenData) -> Tokenizer:
    """Return the tokenizer that made prepared data."""
    if data.tokenizer is None:
        name = data.origin.get("name", "tokens")
        raise KinoflowError(f"data set {name!r}: has no tokenizer, it is not one of text; use the data set `text`")
    return Tokenizer.from_json(data.tokenizer)


def byte_characters() -> list[str]:
    """Return the character for each byte in a vocabulary: its own if it is visible, otherwise one from 256 on."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in visible else chr(next(others)) for byte in range(256)]


def _pieces(text: str) -> Iterator[str]:
    """Yield parts of about `PIECE` characters; their tokens are those of the whole text."""
    start = 0
    while len(text) - start > PIECE:
        cut = _PLACE_TO_CUT.search(text, start + PIECE)
        if cut is None:
            break
        yield text[start : cut.start()]
        start = cut.start()
    if start < len(text):
        yield text[start:]
