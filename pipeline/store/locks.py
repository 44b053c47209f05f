"""Locks between processes: one works and the others wait, or one works and the others are refused."""

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.errors import KinoflowError

logger = logging.getLogger(__name__)

NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


@contextmanager
def exclusive(path: Path, purpose: str) -> Iterator[bool]:
    """Hold the lock file ``path``, and yield whether the file system really has locks.

    The kernel frees the lock when its holder dies. Without locks we go on: every file is verified and replaced in one
    step, so at worst work is done twice.
    """
    while True:
        with path.open("ab") as file:  # closing it frees the lock
            if not _locked(file.fileno(), path, purpose):
                path.unlink(missing_ok=True)
                yield False
                return
            if _is_current(file.fileno(), path):  # or the last holder has removed it: start over
                try:
                    yield True
                finally:
                    path.unlink(missing_ok=True)  # while the lock is still held, so that those who wait notice
                return


def _locked(file: int, path: Path, purpose: str) -> bool:
    """Wait for the lock of an open file; return False if the file system has no locks."""
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.info("waiting for another process that is %s", purpose)
            fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        logger.warning("%s: this file system has no locks (%s)", path.parent, error.strerror)
        return False
    return True


def _is_current(file: int, path: Path) -> bool:
    try:
        return os.path.samefile(file, path)
    except FileNotFoundError:
        return False


def claim(folder: Path, lock: Path) -> None:
    """Lock the file `lock` to keep other runs out of a folder while this process lives; raise if one is at work there.

    Jobs read the configuration of their run from the folder. Snakemake's own lock lets in runs that make different
    files, and a run that ends frees the locks of all others. The kernel frees this lock when its process ends, however
    it ends. On a file system without locks, nothing is kept out.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)  # never closed; jobs do not inherit it
    except PermissionError:
        raise KinoflowError(
            f"{lock}: belongs to another user, who has run the workflow in {folder}; get the right to write it, or use "
            "a directory of your own: --config results=<directory>"
        ) from None
    _lock_or_refuse(descriptor, folder)


def check_unclaimed(folder: Path, lock: Path) -> None:
    """Raise the error of `claim` if another run is at work in a folder; claim nothing."""
    with suppress(OSError), lock.open("r+b") as file:  # no run yet, or another user's, which `claim` reports
        _lock_or_refuse(file.fileno(), folder)


def _lock_or_refuse(file: int, folder: Path) -> None:
    """Lock an open file, or raise if another run has; a file system without locks refuses nobody."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise KinoflowError(
            f"{folder}: another run is at work there; wait until it has ended, name all targets in one call, or give "
            "this one a directory of its own: --config results=<directory>"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
