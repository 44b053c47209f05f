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
    """Hold the lock file ``path``, and yield whether the file system really has locks.

    The kernel frees the lock when its holder dies. Without locks we go on: every file is verified and replaced in one
    step, so at worst work is done twice.
    """
    descriptor = _acquire(path, purpose)
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        # Unlink while the lock is still held: a process that waits on the old file notices in _acquire and starts over.
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
    if not _is_free(descriptor):
        os.close(descriptor)
        raise _at_work(folder)


def check_unclaimed(folder: Path, lock: Path) -> None:
    """Raise the error of `claim` if another run is at work in a folder; claim nothing."""
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except OSError:  # no run yet, or another user's, which `claim` reports
        return
    try:
        if not _is_free(descriptor):
            raise _at_work(folder)
    finally:
        os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Lock an open file, and return whether that worked; on a file system without locks it always does."""
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
