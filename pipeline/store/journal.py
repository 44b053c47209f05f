"""A journal of the finished parts of some work, so that it can resume after an interruption.

Each line is a JSON list that ends with the checksum of what is before it. The first one holds the fingerprint of what
the parts are made from. A part counts once its line is complete, so a process may be killed at any moment. A line that
was damaged or edited does not count: its part is done again.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pipeline.store.provenance import note_resumption

Result = TypeVar("Result")


class Journal:
    """Finished values by key (a position or a name), in a folder of their own."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Read an existing journal with the same fingerprint; discard one with another."""
        self.path, self.entries = folder / "finished.jsonl", dict[int | str, Any]()
        folder.mkdir(parents=True, exist_ok=True)
        good = self._read(fingerprint) if self.path.is_file() else 0
        if self.entries:
            note_resumption(str(self.path))
        if good:
            os.truncate(self.path, good)  # or the next line would be appended to a torn one
        else:
            self.path.unlink(missing_ok=True)
            self._append("fingerprint", fingerprint)

    def add(self, key: int | str, value: Any) -> None:
        """Keep a value; it is on the disk when this returns."""
        self._append(key, value)
        self.entries[key] = value

    def once(self, key: int | str, compute: Callable[[], Result]) -> Result:
        """Return the value that was kept under a key, or compute and keep it."""
        if key not in self.entries:
            self.add(key, compute())
        return self.entries[key]

    def remove(self) -> None:
        """Delete the journal, and its folder if there is nothing else in it."""
        self.path.unlink()
        if not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()

    def _read(self, fingerprint: str) -> int:
        """Read the lines and return the length in bytes of the complete ones; 0 if the fingerprint differs."""
        complete = 0
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    break  # a torn line, the last one
                entry = _entry_of(line)
                if number == 1 and entry != ("fingerprint", fingerprint):
                    return 0
                if entry is None:
                    print(f"{self.path}: line {number} is damaged; what it held is done again", file=sys.stderr)
                elif entry[0] != "fingerprint":
                    self.entries[entry[0]] = entry[1]
                complete += len(line)
        return complete

    def _append(self, key: int | str, value: Any) -> None:
        try:
            with self.path.open("ab") as stream:
                stream.write(json.dumps([key, value, _checksum(key, value)]).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:  # such as a full disk; the next reader skips a torn line
            raise OSError(error.errno, error.strerror, str(self.path)) from error


def _checksum(key: int | str, value: Any) -> str:
    return hashlib.sha256(json.dumps([key, value]).encode()).hexdigest()[:16]


def _entry_of(line: bytes) -> tuple[int | str, Any] | None:
    """Return the key and value of a line; None if it is not as it was written."""
    try:
        key, value, checksum = json.loads(line)
        return (key, value) if checksum == _checksum(key, value) else None
    except (TypeError, ValueError, RecursionError):
        return None
