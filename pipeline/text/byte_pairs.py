"""The tokenizers that can be chosen: GPT-2's, byte pairs learnt from the corpus, and single bytes."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import tokenizers
from pydantic import Field, model_validator
from tokenizers import decoders, models, pre_tokenizers, trainers

from pipeline.config import Strict
from pipeline.errors import KinoflowError
from pipeline.text.tokenizer import END, Tokenizer, byte_characters

GPT2_FILES = ("gpt2_vocabulary/encoder.json", "gpt2_vocabulary/vocab.bpe")
GPT2_SIZE = 50257
BYTES = 257  # with the end token


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
    if choice.name == "gpt2":
        return gpt2(cache)
    if choice.name == "bytes":
        return single_bytes()
    first = (text for _, text in zip(range(choice.documents or 100_000), texts, strict=False))
    return learnt(first, choice.tokens)


def gpt2(cache: Path) -> Tokenizer:
    """Return GPT-2's tokenizer, from its files."""
    vocabulary_file, merges_file = (cache / name for name in GPT2_FILES)
    try:
        vocabulary = json.loads(vocabulary_file.read_text("utf-8"))
        lines = merges_file.read_text("utf-8").splitlines()
        merges = [(left, right) for left, right in (line.split() for line in lines[1:] if line)]
        tokenizer = Tokenizer(_byte_level(vocabulary, merges), str(vocabulary_file))
    except KinoflowError:
        raise
    except Exception as error:  # the library raises nothing more specific
        raise KinoflowError(f"{vocabulary_file}, {merges_file}: cannot be read ({error}); fetch them again") from error
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
