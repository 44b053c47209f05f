"""Prepared tokens come back from their file as they were, vocabulary included."""

from pathlib import Path

import pytest
import torch

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.tokens.token_data import TokenData

TOKENS = torch.tensor([[0, 3, 4], [1, 2, 4]])


@pytest.mark.parametrize("mask", [5, 6])
def test_file_keeps_tokens_kinds_and_the_mask_token(tmp_path: Path, mask: int) -> None:
    vocabulary = Vocabulary([0, 0, 1, 1, 2, -1, -1], mask=mask)
    data = TokenData(TOKENS, TOKENS[:1], TOKENS[1:], vocabulary, {"name": "test"})
    data.save(tmp_path / "tokens.safetensors")
    read = TokenData.load(tmp_path / "tokens.safetensors")
    assert torch.equal(read.train.long(), TOKENS)
    assert torch.equal(read.vocabulary.kind_of.values, vocabulary.kind_of.values)
    assert read.vocabulary.mask == mask
    assert read.counts().tolist() == [1, 1, 1, 1, 2, 0, 0]


def test_a_split_of_another_length_is_refused() -> None:
    with pytest.raises(KinoflowError, match="test: sequences of one length"):
        TokenData(TOKENS, TOKENS, TOKENS[:, :2], Vocabulary([0, 0, 1, 1, 2]), {})


def test_the_file_keeps_the_tokenizer_the_evaluation_sets_and_the_record(tmp_path: Path) -> None:
    vocabulary = Vocabulary([0] * 300 + [-1])
    long = torch.full((2, 3), 299)
    data = TokenData(TOKENS, TOKENS, TOKENS, vocabulary, {}, None, "{}", {"far": long}, {"words": 5})
    data.save(tmp_path / "tokens.safetensors")
    read = TokenData.load(tmp_path / "tokens.safetensors")
    assert (read.tokenizer, read.record, list(read.evaluation)) == ("{}", {"words": 5}, ["far"])
    assert torch.equal(read.evaluation["far"].long(), long)
    assert read.train.dtype == torch.uint16
    assert read.vocabulary_hash == data.vocabulary_hash
    assert torch.equal(read.counts(), data.counts())


def test_another_tokenizer_is_another_vocabulary() -> None:
    one, other = (
        TokenData(TOKENS, TOKENS, TOKENS, Vocabulary([0] * 5), {}, None, tokenizer) for tokenizer in ("{}", "[]")
    )
    assert one.vocabulary_hash != other.vocabulary_hash
