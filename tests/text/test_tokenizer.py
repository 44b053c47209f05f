"""Tokenizers: every text comes back, and every token can be shown."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.text import tokenizer as tokenizer_module
from pipeline.text.tokenizer import (
    END,
    GPT2_FILES,
    GPT2_SIZE,
    Tokenizer,
    TokenizerChoice,
    build_tokenizer,
    byte_characters,
    gpt2,
    learnt,
    single_bytes,
    tokenizer_of,
)
from pipeline.tokens.token_data import TokenData

TEXTS = [
    f"The {noun}s of the {noun} are {number} times as many.\n" for number, noun in enumerate(("cat", "dog", "cow"))
]
LEARNT = learnt(TEXTS * 3, 280)


def decoded(tokenizer: Tokenizer, text: str) -> str:
    return tokenizer.decode(torch.from_numpy(tokenizer.encode([text])[0].astype(np.int64))[None])[0]


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    assert decoded(LEARNT, text) == text
    assert decoded(single_bytes(), text) == text


def test_learnt_tokenizer_has_its_size_and_ends_with_the_end_token() -> None:
    assert (LEARNT.size, LEARNT.end) == (280, 279)
    assert len(LEARNT.encode(TEXTS)[0]) < len(TEXTS[0]) / 2


def test_a_text_that_spells_out_the_end_token_is_ordinary_text() -> None:
    for tokenizer in (LEARNT, single_bytes()):
        assert tokenizer.end not in tokenizer.encode([f"one{END}two", END])[0]
        assert decoded(tokenizer, f"one{END}two") == f"one{END}two"


def test_bytes_are_numbered_by_their_values() -> None:
    tokenizer = single_bytes()
    assert (tokenizer.size, tokenizer.end) == (257, 256)
    assert tokenizer.encode(["aé\n"])[0].tolist() == [97, 0xC3, 0xA9, 10]


def test_any_tokens_can_be_shown() -> None:
    tokenizer = single_bytes()
    rows = torch.tensor([[97, 256, 257], [0xC3, 257, 98], [-1, 10**6, 0xFF]])
    assert tokenizer.decode(rows) == [f"a{END}█", "\ufffd█b", "██\ufffd"]
    assert tokenizer.decode(rows[:, :0]) == ["", "", ""]
    assert tokenizer.decode(torch.tensor([[97]], dtype=torch.uint16)) == ["a"]


def test_json_is_canonical_and_gives_the_same_tokenizer() -> None:
    again = Tokenizer.from_json(LEARNT.json)
    assert again.json == LEARNT.json
    assert again.encode(TEXTS)[1].tolist() == LEARNT.encode(TEXTS)[1].tolist()
    assert json.loads(LEARNT.json)["model"]["type"] == "BPE"


def test_learning_gives_the_same_tokenizer_in_another_process() -> None:
    code = f"from pipeline.text.tokenizer import learnt\ntexts = {TEXTS * 3!r}\nprint(learnt(texts, 280).json, end='')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == LEARNT.json


def test_a_long_text_has_the_tokens_of_the_text_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n\n".join([*TEXTS, "  don't\n\n\n stop  ", "x" * 50, "\t é è \n"] * 3)
    whole = LEARNT.encode([text, "", "a b"])
    for piece in (1, 7, 20):
        monkeypatch.setattr(tokenizer_module, "PIECE", piece)
        assert [tokens.tolist() for tokens in LEARNT.encode([text, "", "a b"])] == [tokens.tolist() for tokens in whole]


def test_a_corpus_that_gives_too_few_tokens_is_an_error_with_their_number() -> None:
    with pytest.raises(KinoflowError, match=r"size = 5000: the training documents give \d+ tokens"):
        learnt(TEXTS, 5000)


def test_characters_of_bytes_are_those_of_the_library() -> None:
    assert sorted(byte_characters()) == sorted(ByteLevel.alphabet())
    assert len(set(byte_characters())) == 256


def test_only_learnt_tokenizers_have_a_size() -> None:
    assert [TokenizerChoice(name=name).tokens for name in ("gpt2", "bytes")] == [50257, 257]
    assert TokenizerChoice(name="bpe", size=1000).tokens == 1000
    with pytest.raises(ValueError, match="size: required key is missing"):
        TokenizerChoice(name="bpe")
    with pytest.raises(ValueError, match="'gpt2' has none"):
        TokenizerChoice(name="gpt2", size=1000)


def test_a_tokenizer_is_learnt_from_as_many_documents_as_were_asked_for(tmp_path: Path) -> None:
    texts = iter(["abab abab", "cdcd cdcd", "efef efef"])
    build_tokenizer(TokenizerChoice(name="bpe", size=258, documents=2), tmp_path, texts)
    assert list(texts) in (["efef efef"], [])
    learnt_of_one = build_tokenizer(
        TokenizerChoice(name="bpe", size=258, documents=1), tmp_path, iter(["ab ab", "cd cd cd"])
    )
    assert len(learnt_of_one.encode(["ab"])[0]) == 1


def write_gpt2(folder: Path, size: int = GPT2_SIZE) -> None:
    """Write files of GPT-2's form: pairs of bytes in some order."""
    characters = byte_characters()
    pairs = [(one, other) for one in characters for other in characters][: size - 257]
    tokens = [*characters, *(one + other for one, other in pairs), END]
    encoder, merges = (folder / name for name in GPT2_FILES)
    encoder.parent.mkdir()
    encoder.write_text(json.dumps({token: number for number, token in enumerate(tokens)}), "utf-8")
    merges.write_text("#version: 0.2\n" + "".join(f"{one} {other}\n" for one, other in pairs), "utf-8")


def test_gpt2_is_read_from_its_files(tmp_path: Path) -> None:
    write_gpt2(tmp_path)
    tokenizer = gpt2(tmp_path)
    assert (tokenizer.size, tokenizer.end, tokenizer.dtype) == (50257, 50256, np.uint16)
    assert decoded(tokenizer, "Two words") == "Two words"


def test_files_that_are_not_gpt2_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match=r"encoder\.json.*fetch them again"):
        gpt2(tmp_path)
    write_gpt2(tmp_path, size=1000)
    with pytest.raises(KinoflowError, match="has 1000 tokens, not 50257"):
        gpt2(tmp_path)


def test_tokenizer_comes_with_the_data() -> None:
    tokens = torch.zeros(1, 2, dtype=torch.int64)
    data = TokenData(tokens, tokens, tokens, Vocabulary.single(280, 1), {"name": "markov"}, tokenizer=LEARNT.json)
    assert tokenizer_of(data).json == LEARNT.json
    without = TokenData(tokens, tokens, tokens, Vocabulary.single(280, 1), {"name": "markov"})
    with pytest.raises(KinoflowError, match="'markov': has no tokenizer"):
        tokenizer_of(without)


@pytest.mark.parametrize("text", ["", "{}", "no JSON"])
def test_json_that_is_no_tokenizer_is_refused(text: str) -> None:
    with pytest.raises(KinoflowError, match="tokenizer"):
        Tokenizer.from_json(text)


def test_a_tokenizer_that_would_lose_bytes_is_refused() -> None:
    description = json.loads(single_bytes().json)
    del description["model"]["vocab"]["a"]
    with pytest.raises(KinoflowError, match="1 of the 256 bytes have no token"):
        Tokenizer.from_json(json.dumps(description))
