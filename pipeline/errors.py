"""The root of every error that Kinoflow raises on purpose, and the hint it ends with."""

import difflib
from collections.abc import Sequence


class KinoflowError(Exception):
    """An error whose message names what is wrong and how to mend it; users see it without a traceback."""


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return what to write instead of `word`."""
    close = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}allowed: {', '.join(known) if known else 'none'}"
