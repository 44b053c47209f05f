"""Whether bytes are the right ones: their SHA-256, and the id of their Git object."""

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

from pipeline.fetch.resource import GIT_OBJECT, SHA256, Resource


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return _sha256(stream)


def git_object_of(path: Path) -> str:
    """Return the id that `git hash-object` prints for a file: the SHA-1 of `blob <size>`, a zero byte, and the content.

    Nobody knows how to make other content with a given SHA-1. What is known is how to make two contents with the same
    one, which harms only who trusts the author of both.
    """
    with path.open("rb") as stream:
        return _git_object(stream)


def difference(expected: str, got: str, what: str = "checksum") -> str:
    """Return the message for a wrong checksum."""
    return f"{what} differs: expected {expected} got {got}"


def fault_of(stream: IO[bytes], resource: Resource) -> str:
    """Return what is wrong with the bytes of a seekable stream; empty if they are those of the resource."""
    for kind, expected in resource.checks.items():
        what, digest = _DIGESTS[kind]
        stream.seek(0)
        if (got := digest(stream)) != expected:
            return difference(expected, got, what)
    return ""


def fault_in(path: Path, resource: Resource) -> str:
    """Return what is wrong with the content of a file; empty if it is that of the resource."""
    with path.open("rb") as stream:
        return fault_of(stream, resource)


def _sha256(stream: IO[bytes]) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # any stream of bytes will do


def _git_object(stream: IO[bytes]) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    begun = partial(hashlib.sha1, b"blob %d\0" % size, usedforsecurity=False)
    return hashlib.file_digest(stream, begun).hexdigest()  # type: ignore[arg-type]


_DIGESTS: dict[str, tuple[str, Callable[[IO[bytes]], str]]] = {
    SHA256: ("checksum", _sha256),
    GIT_OBJECT: ("Git object id", _git_object),
}
