"""Texts of corpora, from files and from the Hugging Face Hub, with errors that say where something is wrong."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from pipeline.config import Strict
from pipeline.text.corpus import CorpusError

SUFFIXES = (".txt", ".jsonl", ".parquet")
Repository = Annotated[str, Field(min_length=1, description="name of the repository, or a directory that holds a copy")]
_TIMEOUT = 30.0  # seconds to ask for the newest commit


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
    """Return all files of text below a folder, sorted; the path itself if it is no folder."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())


def checked_files(path: Path) -> list[Path]:
    """Return the file, or all files of text below a folder; raise if there is none."""
    suffixes, found = ", ".join(SUFFIXES), files_below(path)
    if not found:
        raise CorpusError(f"{path}: holds no file of text ({suffixes}); give another folder")
    if not found[0].is_file():
        raise CorpusError(f"{path}: there is no such file or folder; check the path")
    if found[0].suffix not in SUFFIXES:
        raise CorpusError(f"{path}: is not a file of text ({suffixes}); give another, or rename it")
    return found


def texts_of(file: Path, column: str, separator: str | None) -> Iterator[str]:
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


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file."""
    return whole_text(file).removesuffix("\n").split("\n")


def json_lines(file: Path) -> Iterator[tuple[Any, str]]:
    """Yield the rows of a file with one JSON value per line, and where each row is."""
    empty = True
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    empty, where = False, f"{file}: line {number}"
                    try:
                        row = json.loads(decoded(line, where))
                    except (ValueError, RecursionError) as error:  # more than JSONDecodeError: too many digits, levels
                        raise CorpusError(f"{where}: is not JSON ({error}); give one object a line") from error
                    yield row, where
    except OSError as error:
        raise CorpusError(f"{file}: cannot be read ({error.strerror}); check the path, or fetch it") from error
    if empty:
        raise CorpusError(f"{file}: is empty; remove it, or give a file with text")


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
    except (OSError, ValueError, arrow.ArrowException) as error:  # a ValueError: bytes that are not UTF-8
        raise CorpusError(f"{file}: cannot be read as parquet ({error}); give another file") from error


class HubOptions(Strict):
    """Where a corpus is read from."""

    repository: Repository
    revision: str | None = Field(None, min_length=1, description="commit, tag or branch; null: the newest commit")


def revision_of(options: HubOptions) -> str | None:
    """Return the commit that is read, None for a directory."""
    return None if _directory(options) else _commit(options.repository, options.revision)


def hub_names_of(options: HubOptions) -> list[str]:
    """Return the name of the repository, nothing for a directory."""
    return [] if _directory(options) else [options.repository]


def inputs_of(options: HubOptions) -> list[Path]:
    """Return the files of a directory that holds a copy; none for the Hub."""
    directory = _directory(options)
    return [] if directory is None else sorted(file for file in directory.rglob("*") if file.is_file())


def rows(options: HubOptions, part: str | None, split: str) -> Iterator[str]:
    """Yield the texts of one split of a `part` (what the Hub calls a configuration), without holding all of them."""
    import datasets  # type: ignore[import-untyped]

    where = f"{options.repository} (split {split!r})"
    try:
        if directory := _directory(options):
            path, commit = str(directory), None
            part = part if part in datasets.get_dataset_config_names(path) else None
        else:
            path, commit = options.repository, _commit(options.repository, options.revision)
        stream = datasets.load_dataset(path, part, split=split, streaming=True, revision=commit)
        for number, row in enumerate(stream):
            yield text_in(row, "text", f"{where}: row {number}")
    except CorpusError:
        raise
    except Exception as error:  # from the network, file formats or the library: too many kinds to list
        raise _unreadable(where, error) from error


@cache  # one commit for all splits, even if a newer one appears in the meantime
def _commit(repository: str, revision: str | None) -> str | None:
    import huggingface_hub

    try:
        return huggingface_hub.HfApi().dataset_info(repository, revision=revision, timeout=_TIMEOUT).sha
    except Exception as error:  # as above
        raise _unreadable(f"{repository} (revision {revision or 'main'!r})", error) from error


def _directory(options: HubOptions) -> Path | None:
    path = Path(options.repository).expanduser()
    return path if path.is_dir() else None


def _unreadable(where: str, error: Exception) -> CorpusError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    advice = "check the network, set `repository` to a directory that holds a copy, or use another corpus"
    return CorpusError(f"{where}: cannot be read ({type(error).__name__}: {reason}); {advice}")
