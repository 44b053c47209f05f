"""A journal of finished rows, from which interrupted work goes on.

One JSON value a line; the first line is the fingerprint of what the rows are made from. A row counts once its line is
complete, so that a process may be killed at any moment.
"""

import json
import os
from pathlib import Path
from typing import Any


class Journal:
    """Finished values by their position, in a folder of their own."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Read what is there of the same fingerprint; anything else is thrown away."""
        self.path, self.entries = folder / "finished.jsonl", dict[int, Any]()
        folder.mkdir(parents=True, exist_ok=True)
        good = self._read(fingerprint) if self.path.is_file() else 0
        if good:
            os.truncate(self.path, good)  # or the next line would be written behind a torn one
        else:
            self.path.unlink(missing_ok=True)
            self._append({"fingerprint": fingerprint})

    def add(self, position: int, value: Any) -> None:
        """Keep a value; when this returns it is on the disk."""
        self._append([position, value])
        self.entries[position] = value

    def remove(self) -> None:
        """Delete the journal, and its folder if there is nothing else in it."""
        self.path.unlink()
        if not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()

    def _read(self, fingerprint: str) -> int:
        """Read the complete lines, and return the length of this part of the file; 0 if it is of something else."""
        good = 0
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream):
                try:
                    value = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:  # a torn line: what follows it, if anything, is not to be trusted
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
        except OSError as error:  # such as a full disk; part of a line is passed over by the next one to read
            raise OSError(error.errno, error.strerror, str(self.path)) from error
