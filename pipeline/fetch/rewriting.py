"""Copies in another form: how to read a resource's own bytes out of them. These are checked like any others."""

import gzip
import io
import json
from pathlib import Path
from typing import IO, cast


def unpacked(path: Path) -> IO[bytes]:
    """Open a file that gzip has packed."""
    return cast(IO[bytes], gzip.open(path, "rb"))


def with_passages_joined(path: Path) -> IO[bytes]:
    """Open LAMBADA as OpenAI published it, from a copy that keeps the last words apart from their contexts."""
    rows = map(json.loads, path.read_bytes().splitlines())
    joined = [json.dumps({"text": f"{row['context']} {row['continuation']}"}) + "\n" for row in rows]
    return io.BytesIO("".join(joined).encode())
