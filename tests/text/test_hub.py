"""Corpora of the Hub, read from directories that hold copies."""

from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from pipeline.text.corpora import fineweb_edu, one_billion_words, openwebtext, wikitext103
from pipeline.text.corpus import CorpusError
from pipeline.text.reading import HubOptions, revision_of


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hub")


def copy(folder: Path, split: str, texts: list[str], column: str = "text") -> Path:
    """Write a copy of a repository with one split."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    table = arrow.table({column: texts, "url": ["-"] * len(texts)})
    parquet.write_table(table, folder / "data" / f"{split}-00000-of-00001.parquet")
    return folder


def documents(corpus: Any, folder: Path, split: str) -> list[tuple[str, int | None]]:
    options = corpus.Options(repository=str(folder))
    return [(document.text, document.words) for document in corpus.documents(options, folder, split)]


def test_pages_are_documents_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    folder = copy(tmp_path / "pages", "train", ["One.", " ", "Two.\nLines."])
    assert documents(openwebtext, folder, "all") == [("One.", None), ("Two.\nLines.", None)]
    assert documents(fineweb_edu, folder, "all") == [("One.", None), ("Two.\nLines.", None)]


def test_rows_of_wikitext_become_articles(tmp_path: Path) -> None:
    rows = ["", " = One = \n", "", " A line . \n", "", " = Two = \n", "", " B . \n"]
    folder = copy(tmp_path / "wikitext", "validation", rows)
    found = documents(wikitext103, folder, "validation")
    assert found == [("\n= One =\n\nA line.\n", 10), ("\n= Two =\n\nB.\n", 9)]


def test_sentences_are_documents(tmp_path: Path) -> None:
    folder = copy(copy(tmp_path / "words", "train", ["Never seen ."]), "test", ["It is n't , he said ."])
    assert documents(one_billion_words, folder, "test") == [("It isn't, he said.", 8)]


def test_part_of_a_copy_is_found_by_its_name(tmp_path: Path) -> None:
    for part in ("sample-10BT", "sample-100BT"):
        copy(tmp_path / part, "train", [f"Of {part}."])
    parts = "".join(
        f"- config_name: {part}\n  data_files:\n  - split: train\n    path: {part}/data/*.parquet\n"
        for part in ("sample-10BT", "sample-100BT")
    )
    (tmp_path / "README.md").write_text(f"---\nconfigs:\n{parts}---\n")
    options = fineweb_edu.Options(repository=str(tmp_path), part="sample-100BT")
    assert [document.text for document in fineweb_edu.documents(options, tmp_path, "all")] == ["Of sample-100BT."]


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    folder = copy(tmp_path / "pages", "train", [f"Page {number}." for number in range(5000)])
    stream = openwebtext.documents(openwebtext.Options(repository=str(folder)), folder, "all")
    assert [next(stream).text for _ in range(2)] == ["Page 0.", "Page 1."]


def test_a_copy_without_the_column_or_the_split_is_an_error(tmp_path: Path) -> None:
    folder = copy(tmp_path / "pages", "train", ["x"], column="body")
    with pytest.raises(CorpusError, match=r"pages.*row 0: has no column 'text', but body, url"):
        documents(openwebtext, folder, "all")
    with pytest.raises(CorpusError, match=r"pages \(split 'test'\): cannot be read"):
        documents(one_billion_words, folder, "test")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="set `repository` to a directory that holds a copy"):
        documents(openwebtext, tmp_path / "empty", "all")


def test_without_a_network_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    def unreachable(*arguments: Any, **options: Any) -> None:
        raise ConnectionError("name or service not known")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", unreachable)
    options = openwebtext.Options(repository="someone/absent")
    with pytest.raises(CorpusError, match=r"someone/absent.*ConnectionError: name or service.*check the network"):
        next(openwebtext.documents(options, tmp_path, "all"))


def test_the_commit_that_is_read_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    asked = []

    class Information:
        sha = "c0ffee"

    def information(self: Any, repository: str, revision: str | None, timeout: float) -> Information:
        asked.append((repository, revision))
        return Information()

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", information)
    options = HubOptions(repository="someone/pages", revision="v1")
    assert [revision_of(options) for _ in range(2)] == ["c0ffee", "c0ffee"]
    assert asked == [("someone/pages", "v1")]
    assert revision_of(HubOptions(repository=str(tmp_path))) is None
