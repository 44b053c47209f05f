"""Files that appear only when they are complete: written under a temporary name beside the target, then renamed."""

import errno
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import KinoflowError

FULL = (errno.ENOSPC, errno.EDQUOT)
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
BROKEN = (errno.EIO, errno.EINTR, errno.ESTALE)  # a failing disk, or a network drive
_RUST = re.compile(r"\(os error (\d+)\)")
_PROBE = 1 << 20  # bytes; a disk without room for them is full


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary path in the target's folder, and rename it to the target if the block succeeds.

    If the disk is full, failing or cannot be written to, raise an OSError that names the target, whatever the block
    raised.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
        mode = temporary.stat().st_mode  # by the umask; safetensors makes files that only their owner can read
        temporary.unlink()  # some want to make the file themselves
        yield temporary
        if temporary.stat().st_mode != mode:
            temporary.chmod(mode)
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())  # or a machine crash could leave the new name without its content
        os.replace(temporary, target)
    except Exception as error:
        if (fault := _fault_of_disk(temporary, error)) is None:
            raise
        raise OSError(fault.errno, fault.strerror, str(target)) from error
    finally:
        _remove(temporary)


def _remove(temporary: Path) -> None:
    try:
        temporary.unlink(missing_ok=True)
    except OSError as error:  # the disk cannot be written to, so there is nothing to remove
        if error.errno not in FORBIDDEN:
            raise


def _fault_of_disk(temporary: Path, error: Exception) -> OSError | None:
    """Return the disk error behind an error, or None if the disk is not to blame."""
    cause = error
    if said := _RUST.search(str(error)):  # safetensors gives the number only in its message
        cause = OSError(int(said[1]), os.strerror(int(said[1])))
    elif not isinstance(error, OSError | KinoflowError) and temporary.exists():
        try:  # torch does not say why, but its unfinished file still fills the disk: more cannot be appended
            with temporary.open("ab") as stream:
                stream.write(bytes(_PROBE))
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as fault:
            cause = fault
    return cause if isinstance(cause, OSError) and cause.errno in (*FULL, *FORBIDDEN, *BROKEN) else None


def write_text(target: Path, text: str) -> None:
    """Write a text file."""
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(target: Path, value: Any) -> None:
    """Write a JSON file; raise an error for numbers that JSON lacks (NaN, infinity)."""
    write_text(target, json.dumps(value, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Return the value in one of our JSON files; raise a clear error if the file is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise KinoflowError(f"{path}: cannot be read as JSON ({error}); remove it and make it again") from error


def _no_number(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no number in JSON")
