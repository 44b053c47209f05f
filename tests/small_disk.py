"""A disk of its own that is soon full, or cannot be written to; root alone may mount one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """Mount a disk of so many bytes at a new folder."""
    folder.mkdir()
    if _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def make_read_only(folder: Path) -> None:
    """Let nothing more be written to a mounted disk."""
    assert _mount("-o", "remount,ro", str(folder)).returncode == 0


def fill(folder: Path, leave: int = 0) -> Path:
    """Write a file, or more of it, that leaves so many bytes of a disk, and return it."""
    path = folder / "ballast"
    with path.open("ab", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(4096))
        except OSError:  # full
            stream.truncate(max(0, path.stat().st_size - leave))
    return path


def _mount(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["mount", *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("this machine has no mount")
