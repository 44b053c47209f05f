"""A lock between processes, so that one of them fetches and the others wait for the result."""

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
