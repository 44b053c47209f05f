"""Faults at one write of a process: an error of the system, a torn write or a kill, by patching what all writing uses.

A write is a call of one of the functions below on a file in the watched folder: opening it to write, syncing it to the
disk, renaming, cutting, removing, or making and removing a folder.
"""

import errno
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR}
KILL, TORN = "kill", "torn write"
KILLED = 137
TAIL = 5  # bytes that are lost of a line that was appended


@dataclass
class Injection:
    """A fault of some kind at write number `at`; without one, writes are only counted."""

    folder: Path
    at: int | None = None
    kind: str = ""
    writes: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Patch the functions of this process."""
        for name in ("replace", "truncate", "unlink", "mkdir", "rmdir", "fsync"):
            setattr(os, name, self._patched(name, getattr(os, name)))
        io.open = self._patched("open", io.open)  # pathlib's way to open a file

    def _patched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *more: Any, **named: Any) -> Any:
            path = os.readlink(f"/proc/self/fd/{first}") if isinstance(first, int) else os.path.abspath(first)
            reading = name == "open" and not set(str(named.get("mode", more[0] if more else "r"))) & set("wax+")
            if reading or not path.startswith(str(self.folder)):
                return function(first, *more, **named)
            self.writes.append(name)
            if self.at == len(self.writes) - 1:
                self._strike(path)
            return function(first, *more, **named)

        return call

    def _strike(self, path: str) -> None:
        if self.kind in ERRORS:
            raise OSError(ERRORS[self.kind], os.strerror(ERRORS[self.kind]), path)
        if self.kind == TORN:
            size = os.path.getsize(path)
            descriptor = os.open(path, os.O_WRONLY)
            os.ftruncate(descriptor, size - TAIL if path.endswith(".jsonl") else size // 2)
        os._exit(KILLED)


def faults_of(writes: list[str]) -> list[tuple[int, str]]:
    """Return every fault that some writes can have: torn are those whose content is about to be synced."""
    kinds = {name: [*ERRORS, KILL, *([TORN] if name == "fsync" else [])] for name in set(writes)}
    return [(number, kind) for number, name in enumerate(writes) for kind in kinds[name]]
