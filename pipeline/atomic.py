"""Files that appear only when they are complete: written under a temporary name beside the target, then renamed."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a temporary path in the target's folder, which takes the target's place if the block succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())  # or a crash of the machine could leave the new name without its content
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> None:
    """Write a text file."""
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(target: Path, value: Any) -> None:
    """Write a JSON file; a number that JSON does not have (NaN, infinity) is an error."""
    write_text(target, json.dumps(value, indent=2, allow_nan=False) + "\n")
