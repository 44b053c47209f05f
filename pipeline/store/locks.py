"""Locks between processes: one works and the others wait, or one works and the others are refused."""

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import KinoflowError

logger = logging.getLogger(__name__)

NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


@contextmanager
def exclusive(path: Path, purpose: str) -> Iterator[bool]:
    """Hold the lock file ``path``; the value says whether the file system really has locks.

    The kernel frees the lock when its holder dies. Without locks we go on: every file is verified and replaced at once,
    so that the worst case is work done twice.
    """
    descriptor = _acquire(path, purpose)
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        # The name goes while the lock is still held: whoever waits on the old file notices in _acquire and starts over.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, purpose: str) -> int | None:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                logger.info("waiting for another process that is %s", purpose)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_current(descriptor, path):
                return descriptor
        except OSError as error:
            os.close(descriptor)
            if error.errno not in NO_LOCKS:
                raise
            logger.warning("%s: this file system has no locks (%s)", path.parent, error.strerror)
            path.unlink(missing_ok=True)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def claim(folder: Path, lock: Path) -> None:
    """Keep other runs out of a folder for as long as this process lives, by the file `lock`; one at work is an error.

    Jobs read the configuration of their run from the folder. Snakemake's own lock lets runs through that make different
    files, and its end frees the locks of all others. The kernel frees this one when its process ends, however it does.
    Where a file system has no locks, nothing is kept out.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)  # never closed, and not open in the jobs
    except PermissionError:
        raise KinoflowError(
            f"{lock}: belongs to another user, who has run the workflow in {folder}; get the right to write it, or use "
            "a directory of your own: --config results=<directory>"
        ) from None
    if not _is_free(descriptor):
        os.close(descriptor)
        raise _at_work(folder)


def check_unclaimed(folder: Path, lock: Path) -> None:
    """Raise the same error if another run is at work in a folder; claim nothing."""
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except OSError:  # no run yet, or that of another user: `claim` says so
        return
    try:
        if not _is_free(descriptor):
            raise _at_work(folder)
    finally:
        os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Lock an open file unless another process has; a file system without locks has none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return True


def _at_work(folder: Path) -> KinoflowError:
    return KinoflowError(
        f"{folder}: another run is at work there; wait until it has ended, name all targets in one call, or give "
        "this one a directory of its own: --config results=<directory>"
    )
