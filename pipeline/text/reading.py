"""Texts from files: checked UTF-8, with errors that say where a file is wrong."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.text.document import CorpusError

SUFFIXES = (".txt", ".jsonl", ".parquet")


def decoded(content: bytes, where: str) -> str:
    """Return the text of UTF-8 bytes; line ends become newlines, a byte-order mark is left out."""
    if not content.strip(b" \t\r\n"):
        raise CorpusError(f"{where}: is empty; remove it, or give a file with text")
    if (place := content.find(b"\0")) >= 0:
        raise CorpusError(f"{where}: is not text, it has a NUL byte at offset {place}; give a file of UTF-8 text")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{content[error.start]:02x} at offset {error.start}"
        raise CorpusError(f"{where}: is not UTF-8 ({byte}); convert it, as with `iconv -t UTF-8`") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def files_below(path: Path) -> list[Path]:
    """Return the file, or all text files below a folder, sorted."""
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
        if not found:
            raise CorpusError(f"{path}: holds no file of text ({', '.join(SUFFIXES)}); give another folder")
        return found
    if not path.is_file():
        raise CorpusError(f"{path}: there is no such file or folder; check the path")
    if path.suffix not in SUFFIXES:
        raise CorpusError(f"{path}: is not a file of text ({', '.join(SUFFIXES)}); give another, or rename it")
    return [path]


def texts_of(file: Path, column: str, separator: str | None = None) -> Iterator[str]:
    """Yield the texts of one file: a .txt file is one, or several with a `separator`; others have one per row."""
    if file.suffix == ".txt":
        text = whole_text(file)
        yield from [text] if separator is None else (part for part in text.split(separator) if part.strip())
    elif file.suffix == ".jsonl":
        yield from (text_in(row, column, where) for row, where in json_lines(file))
    else:
        yield from _parquet(file, column)


def whole_text(file: Path) -> str:
    """Return the whole text of a file."""
    try:
        return decoded(file.read_bytes(), str(file))
    except OSError as error:
        raise CorpusError(f"{file}: cannot be read ({error.strerror}); check the path, or fetch it") from error


def json_lines(file: Path) -> Iterator[tuple[Any, str]]:
    """Yield the rows of a file with one JSON value per line, and where each row is."""
    empty = True
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    empty, where = False, f"{file}: line {number}"
                    yield _json(decoded(line, where), where), where
    except OSError as error:
        raise CorpusError(f"{file}: cannot be read ({error.strerror}); check the path, or fetch it") from error
    if empty:
        raise CorpusError(f"{file}: is empty; remove it, or give a file with text")


def _json(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:  # not only a JSONDecodeError: a number with too many digits raises another
        raise CorpusError(f"{where}: is not JSON ({error}); give one object a line") from error


def text_in(row: Any, column: str, where: str) -> str:
    """Return the text in a row's column."""
    if not isinstance(row, dict) or column not in row:
        there = ", ".join(row) if isinstance(row, dict) else f"a {type(row).__name__}"
        raise CorpusError(f"{where}: has no column {column!r}, but {there}; set `column`")
    if not isinstance(row[column], str):
        raise CorpusError(f"{where}: column {column!r} is {row[column]!r}, not text; set `column` to one of text")
    try:
        row[column].encode("utf-8")
    except UnicodeEncodeError as error:  # JSON can escape half a surrogate pair, which UTF-8 cannot encode
        half = f"{row[column][error.start]!r} at character {error.start}"
        raise CorpusError(f"{where}: column {column!r} has half a character, {half}; remove it") from error
    return row[column].replace("\r\n", "\n")


def _parquet(file: Path, column: str) -> Iterator[str]:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(file) as table:
            there = table.schema_arrow
            if column not in there.names:
                raise CorpusError(f"{file}: has no column {column!r}, but {', '.join(there.names)}; set `column`")
            if not table.metadata.num_rows:
                raise CorpusError(f"{file}: is empty; remove it, or give a file with text")
            for batch in table.iter_batches(batch_size=1000, columns=[column]):
                yield from (text_in({column: text}, column, str(file)) for text in batch.column(0).to_pylist())
    except (OSError, arrow.ArrowException) as error:
        raise CorpusError(f"{file}: cannot be read as parquet ({error}); give another file") from error
