"""Byte-level tokenizers, which can encode every text and show every token.

One can choose GPT-2's, byte pairs learnt from the corpus, and single bytes.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import tokenizers
from numpy.typing import NDArray
from pydantic import Field, model_validator
from tokenizers import decoders, models, pre_tokenizers, trainers

from pipeline.config import Strict
from pipeline.errors import KinoflowError

if TYPE_CHECKING:  # texts are written without torch
    from torch import Tensor

    from pipeline.tokens.token_data import TokenData

END = "<|endoftext|>"
MASK = "█".encode()  # how tokens that are never data are shown
GPT2_FILES = ("gpt2_vocabulary/encoder.json", "gpt2_vocabulary/vocab.bpe")
GPT2_SIZE = 50257
BYTES = 257  # with the end token
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
            implementation = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing more specific
            found = f"not one of the tokenizers library ({error})"
            raise KinoflowError(f"tokenizer: {found}; prepare the data anew") from error
        return cls(implementation)

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

    def decode(self, tokens: "Tensor | NDArray[Any]") -> list[str]:
        """Return the text of each row of tokens [N, D]; invalid UTF-8 is shown as U+FFFD, a mask as a block."""
        shown = dict(enumerate(self._bytes))
        in_bytes = (b"".join(shown.get(token, MASK) for token in row) for row in tokens.tolist())
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


def tokenizer_of(data: "TokenData") -> Tokenizer:
    """Return the tokenizer that made prepared data."""
    return described_tokenizer({"tokenizer": data.tokenizer, "origin": data.origin})


def described_tokenizer(description: Mapping[str, Any]) -> Tokenizer:
    """Return the same from the description of the data's file."""
    if description["tokenizer"] is None:
        name = description["origin"].get("name", "tokens")
        raise KinoflowError(f"data set {name!r}: has no tokenizer, it is not one of text; use the data set `text`")
    return Tokenizer.from_json(description["tokenizer"])


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


class TokenizerChoice(Strict):
    """Which tokenizer, and how large it is."""

    name: Literal["gpt2", "bpe", "bytes"] = Field(description="GPT-2's; learnt from the training documents; bytes")
    size: int | None = Field(None, ge=BYTES, description="bpe: number of tokens, the end token included")
    documents: int | None = Field(None, ge=1, description="bpe: learn from at most so many documents; null: 100000")

    @model_validator(mode="after")
    def _only_what_is_learnt_has_a_size(self) -> "TokenizerChoice":
        if self.name == "bpe" and self.size is None:
            raise ValueError("size: required key is missing; give the number of tokens, such as 2048")
        if self.name != "bpe" and (self.size, self.documents) != (None, None):
            raise ValueError(f"size, documents: {self.name!r} has none; remove them, or set name: bpe")
        return self

    @property
    def tokens(self) -> int:
        """The number of tokens that can be data, the end token included."""
        return {"gpt2": GPT2_SIZE, "bytes": BYTES}.get(self.name, self.size or 0)

    @property
    def files(self) -> tuple[str, ...]:
        """The catalogue names of the files that it is made from."""
        return GPT2_FILES if self.name == "gpt2" else ()


def build_tokenizer(choice: TokenizerChoice, cache: Path, texts: Iterator[str]) -> Tokenizer:
    """Return the tokenizer; `texts` are the training documents, which only a learnt tokenizer reads."""
    if choice.name != "bpe":
        return gpt2(cache) if choice.name == "gpt2" else single_bytes()
    return learnt(islice(texts, choice.documents or 100_000), choice.tokens)


def gpt2(cache: Path) -> Tokenizer:
    """Return GPT-2's tokenizer, from its files."""
    vocabulary_file, merges_file = (cache / name for name in GPT2_FILES)
    try:
        vocabulary = json.loads(vocabulary_file.read_text("utf-8"))
        lines = merges_file.read_text("utf-8").splitlines()
        merges = [(left, right) for left, right in (line.split() for line in lines[1:] if line)]
        implementation = _byte_level(vocabulary, merges)
    except Exception as error:  # the library raises nothing more specific
        raise KinoflowError(f"{vocabulary_file}, {merges_file}: cannot be read ({error}); fetch them again") from error
    tokenizer = Tokenizer(implementation, str(vocabulary_file))
    if tokenizer.size != GPT2_SIZE:
        raise KinoflowError(f"{vocabulary_file}: has {tokenizer.size} tokens, not {GPT2_SIZE}; fetch it again")
    return tokenizer


def single_bytes() -> Tokenizer:
    """Return the tokenizer whose tokens are the 256 bytes, numbered by value, and the end token."""
    return Tokenizer(_byte_level(_numbered([*byte_characters(), END]), []))


def learnt(texts: Iterable[str], size: int) -> Tokenizer:
    """Return a tokenizer of `size` tokens: the bytes, the most frequent pairs in the texts, and the end token."""
    pairs = _byte_level({}, [])
    trainer = trainers.BpeTrainer(
        vocab_size=size - 1,
        initial_alphabet=byte_characters(),
        special_tokens=[],
        min_frequency=2,  # a pair that occurs once says nothing
        show_progress=False,
    )
    pairs.train_from_iterator(texts, trainer)
    model = json.loads(pairs.to_str())["model"]
    vocabulary = sorted(model["vocab"], key=model["vocab"].__getitem__)
    if len(vocabulary) != size - 1:
        gives = f"the training documents give {len(vocabulary) + 1} tokens"
        raise KinoflowError(f"tokenizer.size = {size}: {gives}; set at most that, or give more text")
    merges = [(left, right) for left, right in model["merges"]]
    return Tokenizer(_byte_level(_numbered([*vocabulary, END]), merges))


def _numbered(tokens: list[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _byte_level(vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> tokenizers.Tokenizer:
    # No merge leads to the end token, so a text that spells it out does not become it.
    model = models.BPE(vocab=vocabulary, merges=merges) if vocabulary else models.BPE()
    implementation = tokenizers.Tokenizer(model)
    implementation.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    implementation.decoder = decoders.ByteLevel()
    return implementation
