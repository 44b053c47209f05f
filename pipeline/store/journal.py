"""A journal of the finished parts of some work, so that it can resume after an interruption.

Each line is one JSON value; the first is the fingerprint of what the parts are made from. A part counts once its line
is complete, so a process may be killed at any moment.
"""

import json
import os
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
            self._append({"fingerprint": fingerprint})

    def add(self, key: int | str, value: Any) -> None:
        """Keep a value; it is on the disk when this returns."""
        self._append([key, value])
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
        """Read the complete lines and return their length in bytes; 0 if the fingerprint differs."""
        good = 0
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream):
                try:
                    value = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:  # a torn line: nothing after it can be trusted
                    value = None
                if value is None or (number == 0 and value != {"fingerprint": fingerprint}):
                    return good
                if number:
                    self.entries[value[0]] = value[1]
                good += len(line)
        return good

    def _append(self, value: Any) -> None:
        try:
            with self.path.open("ab") as stream:
                stream.write(json.dumps(value).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:  # such as a full disk; the next reader skips a torn line
            raise OSError(error.errno, error.strerror, str(self.path)) from error
