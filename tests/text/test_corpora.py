"""Corpora give their documents, and files that are not what they should be give errors that say so."""

import inspect
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from pipeline.config.plugins import CORPORA
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.text.corpora import files, lambada, ptb, sotu
from pipeline.text.corpus import Corpus, CorpusChoice, CorpusError


def texts(path: Path, **options: str) -> list[str]:
    return [document.text for document in files.documents(files.Options(path=str(path), **options), path, "all")]


def write_parquet(path: Path, **columns: list[object]) -> Path:
    parquet.write_table(arrow.table(columns), path)
    return path


@pytest.mark.parametrize("name", CORPORA.names())
def test_corpus_declares_what_every_corpus_has(name: str, tmp_path: Path) -> None:
    corpus = CORPORA.load(name)
    assert set(corpus.SPLITS) <= {"all", "train", "validation", "test"}
    assert list(inspect.signature(corpus.documents).parameters) == ["options", "cache", "split"]
    assert set(getattr(corpus, "FILES", ())) <= set(CATALOGUE)
    assert all(field.description for field in corpus.Options.model_fields.values())
    choice = CorpusChoice(name=name, path=str(tmp_path)) if name == "files" else CorpusChoice(name=name)
    with pytest.raises(CorpusError, match=f"'{name}': has no split 'trian', only"):
        Corpus.of(choice).documents(tmp_path, "trian")


def test_speeches_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    archive = tmp_path / sotu.FILES[0]
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as speeches:
        for name in ("sotu/data/speeches/1802.txt", "sotu/data/speeches/1801.txt", "sotu/data/readme.txt"):
            speeches.writestr(name, f"Speech of {name[-8:-4]}.\r\n")
    found = [document.text for document in sotu.documents(sotu.Options(), tmp_path, "all")]
    assert found == ["Speech of 1801.", "Speech of 1802."]
    archive.write_bytes(b"no archive")
    with pytest.raises(CorpusError, match="fetch `sotu` again"):
        next(sotu.documents(sotu.Options(), tmp_path, "all"))


def test_passages_end_with_their_last_words(tmp_path: Path) -> None:
    file = tmp_path / lambada.FILES[0]
    file.parent.mkdir()
    file.write_text(json.dumps({"text": "“Go,” said Ann"}) + "\n", "utf-8")
    (document,) = lambada.documents(lambada.Options(), tmp_path, "test")
    assert (document.text, document.words) == ('"Go," said Ann', None)


def test_treebank_counts_each_end_of_a_line_as_a_word(tmp_path: Path) -> None:
    file = tmp_path / ptb.FILES[1]
    file.parent.mkdir()
    file.write_text(" it is n't <unk> \n costs rose N % \n", "utf-8")
    (document,) = ptb.documents(ptb.Options(), tmp_path, "validation")
    assert (document.text, document.words) == ("it isn't <unk>\ncosts rose N%\n", 10)


def test_a_file_is_a_document_and_a_folder_all_files_below_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "b.txt").write_bytes("\ufeffSecond é\r\nline".encode())
    (tmp_path / "a.txt").write_text("First")
    (tmp_path / "notes.md").write_text("not text of the corpus")
    (tmp_path / "below" / "c.jsonl").write_text('{"text": "Third"}\n\n{"text": "Fourth"}\n')
    write_parquet(tmp_path / "below" / "d.parquet", text=["Fifth", "", "Sixth"], number=[1, 2, 3])
    assert texts(tmp_path) == ["First", "Second é\nline", "Third", "Fourth", "Fifth", "Sixth"]
    inputs = files.inputs(files.Options(path=str(tmp_path)))
    assert [path.name for path in inputs] == ["a.txt", "b.txt", "c.jsonl", "d.parquet"]


def test_a_separator_and_a_column_say_where_documents_are(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("One.\n%\nTwo.\n%\n")
    assert texts(tmp_path / "all.txt", separator="\n%\n") == ["One.", "Two."]
    assert texts(write_parquet(tmp_path / "d.parquet", body=["x"]), column="body") == ["x"]


def test_splits_are_those_that_have_a_path(tmp_path: Path) -> None:
    assert files.splits(files.Options(path="a")) == ("all",)
    corpus = Corpus.of(CorpusChoice(name="files", path="a", test_path=str(tmp_path / "t.txt")))
    (tmp_path / "t.txt").write_text("held out")
    assert corpus.splits == ("all", "test")
    assert [document.text for document in corpus.documents(tmp_path, "test")] == ["held out"]
    with pytest.raises(CorpusError, match="no split 'validation', only all, test"):
        corpus.documents(tmp_path, "validation")


def _bytes(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


@pytest.mark.parametrize(
    "write, message",
    [
        (_bytes("a.txt", b" \n"), r"a\.txt: is empty"),
        (_bytes("a.txt", b"text\0text"), r"a\.txt: is not text, it has a NUL byte at offset 4"),
        (_bytes("a.txt", "aé".encode("latin-1")), r"a\.txt: is not UTF-8 \(byte 0xe9 at offset 1\).*iconv"),
        (_bytes("a.pdf", b"%PDF"), r"a\.pdf: is not a file of text"),
        (_bytes("a.jsonl", b""), r"a\.jsonl: is empty"),
        (_bytes("a.jsonl", b'{"text": "x"}\n{"body": "x"}'), r"line 2: has no column 'text', but body; set `column`"),
        (_bytes("a.jsonl", b'{"text": 3}'), r"line 1: column 'text' is 3, not text"),
        (_bytes("a.jsonl", rb'{"text": "ab\ud800"}'), r"line 1: column 'text' has half a character, .* at character 2"),
        (_bytes("a.jsonl", b'["text"]'), r"line 1: has no column 'text', but a list"),
        (_bytes("a.jsonl", b"{"), r"a\.jsonl: line 1: is not JSON"),
        (_bytes("a.parquet", b"PAR1"), r"a\.parquet: cannot be read as parquet"),
        (lambda folder: write_parquet(folder / "a.parquet", body=["x"]), r"has no column 'text', but body"),
        (lambda folder: write_parquet(folder / "a.parquet", text=["x", None]), r"column 'text' is None, not text"),
        (lambda folder: folder / "missing.txt", r"missing\.txt: there is no such file or folder"),
        (lambda folder: folder, r"holds no file of text"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    write: Callable[[Path], Path], message: str, tmp_path: Path
) -> None:
    with pytest.raises(CorpusError, match=message):
        texts(write(tmp_path))
