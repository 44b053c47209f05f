"""Packing and holding out: every token is in its place, and every document in one split."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.text import packing
from pipeline.text.corpus import CorpusError, Document, HeldOut
from pipeline.text.packing import Packer, PackingJournal, in_order, pack
from pipeline.text.tokenizer import single_bytes

BYTES = single_bytes()
BOTH = ("validation", "test")


def packed(texts: list[str], length: int, limit: int | None, folder: Path, *, stop: bool = True) -> Packer:
    packer = Packer("train", BYTES, length, limit, folder)
    pack(in_order(packer, map(Document, texts)), [packer], stop=stop)
    return packer


def test_blocks_are_the_documents_in_a_row_with_an_end_after_each(tmp_path: Path) -> None:
    packer = packed(["abc", "de", "fghi"], 4, None, tmp_path)
    assert BYTES.decode(packer.blocks("files")) == ["abc<|endoftext|>", "de<|endoftext|>f", "ghi<|endoftext|>"]
    assert packer.record() == {
        **{"documents": 3, "characters": 9, "bytes": 9, "words": None},
        **{"tokens": 9, "separators": 3, "blocks": 3, "dropped": 0},
    }


def test_what_does_not_fill_a_block_is_dropped_and_counted(tmp_path: Path) -> None:
    packer = packed(["abcdé", "f"], 5, None, tmp_path)
    assert packer.blocks("files").shape == (1, 5)
    record = packer.record()
    assert (record["tokens"], record["separators"], record["dropped"], record["bytes"]) == (7, 2, 4, 7)


def test_words_are_counted_where_documents_have_them(tmp_path: Path) -> None:
    packer = Packer("test", BYTES, 2, None, tmp_path)
    packer.add([Document("ab", 3), Document("cd", 4)])
    assert packer.record()["words"] == 7


def test_a_stream_is_read_no_further_than_the_limit(tmp_path: Path) -> None:
    taken = Counter[str]()

    def endless() -> Iterator[Document]:
        while True:
            taken["documents"] += 1
            yield Document("x" * 9)

    packer = Packer("train", BYTES, 10, 7, tmp_path)
    pack(in_order(packer, endless()), [packer], stop=True)
    assert len(packer.blocks("files")) == 7
    assert taken["documents"] < 100


def test_a_set_that_is_not_stopped_is_counted_to_its_end(tmp_path: Path) -> None:
    packer = packed(["x" * 9] * 50, 10, 7, tmp_path, stop=False)
    record = packer.record()
    assert (record["documents"], record["tokens"], record["blocks"], record["dropped"]) == (50, 450, 7, 430)


def test_a_set_without_a_block_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="train of files: 2 documents with 4 tokens do not fill one block"):
        packed(["ab", "cd"], 100, None, tmp_path).blocks("files")


def test_tokens_are_mapped_from_a_file_that_leaves_nothing_behind(tmp_path: Path) -> None:
    blocks = packed(["abc"] * 10, 4, None, tmp_path).blocks("files")
    assert list(tmp_path.iterdir()) == []
    assert blocks.dtype == torch.uint16
    assert blocks.long()[:, 0].tolist() == [97] * 10


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share, documents", [(0.05, 20), (0.05, 3), (1 / 3, 3), (0.1, 11), (0.5 / 3, 7)])
def test_no_split_of_a_small_corpus_is_empty(seed: int, share: float, documents: int) -> None:
    held_out = HeldOut(share, BOTH, seed)
    assert {held_out.split(number) for number in range(documents)} == {"train", *BOTH}


def test_shares_are_those_that_were_asked_for() -> None:
    held_out = HeldOut(0.05, BOTH, 0)
    counts = Counter(held_out.split(number) for number in range(2000))
    assert counts == {"train": 1800, "validation": 100, "test": 100}
    places = [number % 20 for number in range(2000) if held_out.split(number) == "test"]
    assert len(set(places)) == 20


def test_split_of_a_document_depends_on_its_number_and_the_seed_only() -> None:
    forward = [HeldOut(0.1, BOTH, 1).split(number) for number in range(100)]
    backward = HeldOut(0.1, BOTH, 1)
    assert [backward.split(number) for number in reversed(range(100))] == forward[::-1]
    assert [HeldOut(0.1, BOTH, 2).split(number) for number in range(100)] != forward


def test_only_splits_that_are_missing_are_held_out() -> None:
    held_out = HeldOut(0.1, ("validation",), 0)
    assert {held_out.split(number) for number in range(50)} == {"train", "validation"}
    assert HeldOut(0.1, (), 0).split(0) == "train"


class Stopped(Exception):
    pass


def packed_with_journal(
    folder: Path, texts: list[str], stop_after: int | None = None
) -> tuple[list[list[int]], dict[str, Any]]:
    """Return the blocks and the record of packing with a journal, which may be stopped after so many documents."""
    journal = PackingJournal(folder)
    packer = Packer("train", BYTES, 7, 40, folder, journal.file("train"))

    def documents() -> Iterator[tuple[Packer, Document]]:
        for number, text in enumerate(texts):
            if number == stop_after:
                raise Stopped
            yield packer, Document(text)

    pack(documents(), [packer], stop=True, journal=journal)
    blocks, record = packer.blocks("files").tolist(), packer.record()
    journal.remove()
    return blocks, record


@pytest.mark.parametrize("stop_after", [0, 3, 4, 11, 12])
def test_packing_that_was_stopped_goes_on_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_after: int
) -> None:
    monkeypatch.setattr(packing, "TOGETHER", 4)
    texts = [f"document {number}" * (1 + number % 3) for number in range(15)]
    expected = packed_with_journal(tmp_path / "undisturbed", texts)
    with pytest.raises(Stopped):
        packed_with_journal(tmp_path / "stopped", texts, stop_after)
    files = list((tmp_path / "stopped").iterdir())
    assert (tmp_path / "stopped/state.json" in files) == (stop_after >= 4)
    with (tmp_path / "stopped/train.tokens").open("ab") as stream:
        stream.write(b"half-written")
    assert packed_with_journal(tmp_path / "stopped", texts) == expected
    assert not (tmp_path / "stopped").exists()


def test_a_file_that_lost_its_end_is_packed_from_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "TOGETHER", 4)
    texts = [f"document {number}" for number in range(15)]
    expected = packed_with_journal(tmp_path / "undisturbed", texts)
    with pytest.raises(Stopped):
        packed_with_journal(tmp_path / "stopped", texts, 9)
    (tmp_path / "stopped/train.tokens").write_bytes(b"short")
    assert packed_with_journal(tmp_path / "stopped", texts) == expected
