"""One run at a time in a directory of results: the jobs of a run read its configuration from there.

Snakemake's own lock lets runs through that make different files, and its end frees the locks of all others.
"""

import fcntl
import os
from pathlib import Path

from pipeline.errors import KinoflowError
from pipeline.store.locks import NO_LOCKS


def claim(folder: Path, lock: Path) -> None:
    """Keep other runs out of a folder for as long as this process lives, by the file `lock`; one at work is an error.

    The kernel frees the lock of a process that has ended, however it did. Where a file system has no locks, nothing is
    kept out.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)  # never closed, and not open in the jobs
    except PermissionError:
        raise KinoflowError(
            f"{lock}: belongs to another user, who has run the workflow in {folder}; get the right to write it, or use "
            "a directory of your own: --config results=<directory>"
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise KinoflowError(
            f"{folder}: another run is at work there; wait until it has ended, name all targets in one call, or give "
            "this one a directory of its own: --config results=<directory>"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
