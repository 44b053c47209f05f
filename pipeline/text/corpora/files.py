"""The user's own text: .txt files, and .jsonl or .parquet files with one document per row."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from pipeline.config import Strict
from pipeline.text.corpus import Document
from pipeline.text.reading import checked_files, files_below, texts_of

SPLITS = ("all", "validation", "test")  # at most; the options decide which


class Options(Strict):
    """Where the documents are."""

    path: str = Field(min_length=1, description="file or folder; splits without a path are held out of it")
    validation_path: str | None = Field(None, min_length=1, description="file or folder for the validation loss")
    test_path: str | None = Field(None, min_length=1, description="file or folder that is evaluated")
    column: str = Field("text", min_length=1, description=".jsonl, .parquet: name of the column of text")
    separator: str | None = Field(
        None,
        min_length=1,
        description='.txt: what stands between documents, such as "\\n\\n"; null: one file, one document',
    )


def splits(options: Options) -> tuple[str, ...]:
    """Return the splits that have a path."""
    return tuple(_paths(options))


def inputs(options: Options) -> list[Path]:
    """Return the text files, including each one below a folder."""
    return [file for path in _paths(options).values() for file in files_below(path)]


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the documents of a split, in the order of their file names."""
    for file in checked_files(_paths(options)[split]):
        yield from (Document(text) for text in texts_of(file, options.column, options.separator) if text.strip())


def _paths(options: Options) -> dict[str, Path]:
    paths = {"all": options.path, "validation": options.validation_path, "test": options.test_path}
    return {split: Path(path).expanduser() for split, path in paths.items() if path is not None}
