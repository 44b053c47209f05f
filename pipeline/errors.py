"""The root of every error that Kinoflow raises on purpose, the hint it ends with, and what no message may hold."""

import difflib
import os
import re
from collections.abc import Sequence

SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")  # how the names of environment variables with secrets end
_SHORTEST = 8  # characters of a secret; shorter words may be anything
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")  # of an address


class KinoflowError(Exception):
    """An error whose message names what is wrong and how to mend it; users see it without a traceback."""


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return what to write instead of `word`."""
    close = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}allowed: {', '.join(known) if known else 'none'}"


def without_secrets(text: str) -> str:
    """Return a text with *** in place of passwords in addresses, and of the secrets of the environment.

    >>> without_secrets("data.mirror=https://me:secret@example.org/data")
    'data.mirror=https://***@example.org/data'
    """
    values = [value for name, value in os.environ.items() if name.upper().endswith(SECRETS) and len(value) >= _SHORTEST]
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "***")
    return _PASSWORD.sub("***@", text)
