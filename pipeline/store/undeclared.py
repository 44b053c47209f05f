"""Which files a plugin reads that it does not declare: the workflow would not notice when they change."""

import os
import sys
import sysconfig
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.errors import KinoflowError

_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib")
_read: list[set[str]] = []  # by those that watch now, the innermost last


@contextmanager
def declared_only(plugin: str, declared: Collection[Path], folders: Collection[Path]) -> Iterator[None]:
    """Raise an error at the end if a file was read that is neither declared nor in one of the `folders`.

    What belongs to Python, its packages or the machine does not count, nor do hidden files.
    """
    _watch()
    _read.append(set())
    try:
        yield
    finally:
        read = sorted({Path(os.path.realpath(path)) for path in _read.pop()})
    known = [*(path.resolve() for path in (*declared, *folders)), *_elsewhere()]
    for path in read:
        hidden = any(part.startswith(".") for part in path.parts)
        if path.is_file() and not hidden and not any(map(path.is_relative_to, known)):
            raise KinoflowError(
                f"{path}: read by {plugin}, which does not declare it, so a change of it would go unnoticed; give its "
                "option the type Path, or let `inputs(options)` return it"
            )


@cache  # a hook stays for the life of the process
def _watch() -> None:
    """Begin to note files that are opened for reading."""

    def note(event: str, given: tuple[Any, ...]) -> None:
        if _read and event == "open" and isinstance(given[0], str) and not given[2] & (os.O_WRONLY | os.O_RDWR):
            _read[-1].add(os.path.abspath(given[0]))

    sys.addaudithook(note)


@cache
def _elsewhere() -> list[Path]:
    """Return the folders of Python, its packages, this package and the machine."""
    folders = (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), str(Path(__file__).parents[1]), *_SYSTEM)
    return sorted({Path(os.path.realpath(path)) for path in folders})
