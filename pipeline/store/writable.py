"""Whether files and folders can be written, found out before the work that they are for."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from pipeline.errors import KinoflowError


def check_file(flag: str, path: Path) -> None:
    """Raise unless a file could be written to a path."""
    if path.is_dir():
        raise KinoflowError(f"{flag} {path}: is a folder; name a file")
    if path.exists() and not path.is_file():
        raise KinoflowError(f"{flag} {path}: is a device or a pipe; name a file")
    _check_parents(flag, path, path.parent)


def check_folder(flag: str, path: Path) -> None:
    """Raise unless files could be written to a folder, which may have to be made."""
    if os.path.lexists(path) and not path.is_dir():
        raise KinoflowError(f"{flag} {path}: is a file; name a folder")
    _check_parents(flag, path, path)


def check_distinct(outputs: Iterable[tuple[str, Path]], inputs: Iterable[tuple[str, Path]]) -> None:
    """Raise if a file is to be written twice, or over one that is to be read."""
    taken = {path.resolve(): flag for flag, path in inputs}
    for flag, path in outputs:
        if other := taken.get(path.resolve()):
            raise KinoflowError(f"{flag} {path}: the same file as {other}; name another one")
        taken[path.resolve()] = flag


def _check_parents(flag: str, path: Path, folder: Path) -> None:
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise KinoflowError(f"{flag} {path}: {there} is no folder; name another place")
    if not os.access(there, os.W_OK | os.X_OK):
        fault = errno.EROFS if os.statvfs(there).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(fault, os.strerror(fault), str(path))
