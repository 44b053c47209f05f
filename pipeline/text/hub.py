"""Corpora of the Hugging Face Hub, read row by row from the network, or from a directory that holds a copy."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from pipeline.config import Strict
from pipeline.text.document import CorpusError
from pipeline.text.reading import text_in

_TIMEOUT = 30.0  # seconds to ask for the newest commit


class HubOptions(Strict):
    """Where a corpus is read from."""

    repository: str = Field(min_length=1, description="name of the repository, or a directory that holds a copy")
    revision: str | None = Field(None, min_length=1, description="commit, tag or branch; null: the newest commit")


def revision_of(options: HubOptions) -> str | None:
    """Return the commit that is read, None for a directory."""
    if _directory(options.repository) is not None:
        return None
    return _commit(options.repository, options.revision)


def hub_name(options: HubOptions) -> str | None:
    """Return the name of the repository, None for a directory."""
    return options.repository if _directory(options.repository) is None else None


def inputs_of(options: HubOptions) -> list[Path]:
    """Return the files of a directory that holds a copy; none for the Hub."""
    directory = _directory(options.repository)
    return [] if directory is None else sorted(file for file in directory.rglob("*") if file.is_file())


def rows(options: HubOptions, part: str | None, split: str, column: str = "text") -> Iterator[str]:
    """Yield the texts of one split of a `part` (what the Hub calls a configuration), without holding all of them."""
    import datasets  # type: ignore[import-untyped]

    directory = _directory(options.repository)
    where = f"{options.repository} (split {split!r})"
    try:
        if directory is not None:
            path = str(directory)
            part = part if part in datasets.get_dataset_config_names(path) else None
            stream = datasets.load_dataset(path, part, split=split, streaming=True)
        else:
            path, commit = options.repository, _commit(options.repository, options.revision)
            stream = datasets.load_dataset(path, part, split=split, streaming=True, revision=commit)
        for number, row in enumerate(stream):
            yield text_in(row, column, f"{where}: row {number}")
    except CorpusError:
        raise
    except Exception as error:  # from the network, file formats or the library: too many kinds to list
        raise _unreadable(where, error) from error


@cache  # one commit for all splits, even if a newer one appears in the meantime
def _commit(repository: str, revision: str | None) -> str | None:
    import huggingface_hub

    try:
        information = huggingface_hub.HfApi().dataset_info(repository, revision=revision, timeout=_TIMEOUT)
    except Exception as error:  # as above
        raise _unreadable(f"{repository} (revision {revision or 'main'!r})", error) from error
    return information.sha


def _directory(repository: str) -> Path | None:
    path = Path(repository).expanduser()
    return path if path.is_dir() else None


def _unreadable(where: str, error: Any) -> CorpusError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    advice = "check the network, set `repository` to a directory that holds a copy, or use another corpus"
    return CorpusError(f"{where}: cannot be read ({type(error).__name__}: {reason}); {advice}")
