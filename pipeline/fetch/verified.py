"""Checksums, and files that appear only when they are complete and verified."""

import hashlib
import os
from pathlib import Path
from typing import IO

from pipeline.fetch.errors import FetchError
from pipeline.store.atomic import replacing

CHUNK = 1 << 20


class ChecksumError(FetchError):
    """Bytes with the wrong checksum, or too many of them."""


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def difference(expected: str, got: str) -> str:
    """Return the message for a wrong checksum."""
    return f"checksum differs: expected {expected} got {got}"


def write_verified(stream: IO[bytes], target: Path, sha256: str, size: int | None = None) -> None:
    """Copy a stream to ``target`` by way of a temporary file; raise an error if the checksum or the size is wrong."""
    digest = hashlib.sha256()
    written = 0
    with replacing(target) as temporary:
        with temporary.open("xb") as output:
            while chunk := stream.read(CHUNK):
                written += len(chunk)
                if size is not None and written > size:
                    raise ChecksumError(f"larger than the expected {size} bytes")
                digest.update(chunk)
                output.write(chunk)
            output.flush()
            os.fsync(output.fileno())
        if digest.hexdigest() != sha256:
            raise ChecksumError(difference(sha256, digest.hexdigest()))


def remove_leftovers(target: Path) -> None:
    """Delete temporary files that killed processes left beside ``target``; only for the holder of its lock."""
    for temporary in target.parent.glob(f".{target.name}.*-*.tmp"):
        temporary.unlink(missing_ok=True)
