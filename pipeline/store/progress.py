"""Progress of long work, with the rate and the time left: a bar on a terminal, a line now and then in a log file."""

import sys
import time
from typing import Any

from tqdm import tqdm

LINE_EVERY = 10.0  # seconds between two lines of a log file


class Progress:
    """A context manager that counts steps out of a total. Of several processes, one has `shown` set."""

    def __init__(self, label: str, total: int, done: int = 0, unit: str = "step", shown: bool = True) -> None:
        self._visible, self._label, self._total, self._done, self._unit = shown, label, total, done, unit
        self._first, self._started, self._shown = done, time.monotonic(), time.monotonic()
        self._bar: tqdm[Any] | None = None

    def __enter__(self) -> "Progress":
        if self._visible and sys.stderr.isatty():
            self._bar = tqdm(desc=self._label, total=self._total, initial=self._done, unit=self._unit)
        return self

    def advance(self, done: int, note: str = "") -> None:
        """Report that `done` steps are done in total."""
        steps, self._done = done - self._done, done
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(steps)
        elif self._visible and (time.monotonic() - self._shown >= LINE_EVERY or done == self._total):
            self._print_line(note)

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _print_line(self, note: str) -> None:
        self._shown = time.monotonic()
        elapsed = max(self._shown - self._started, 1e-9)
        rate = (self._done - self._first) / elapsed
        left = tqdm.format_interval((self._total - self._done) / rate) if rate else "?"
        share = f"{self._done}/{self._total} {self._unit}s ({self._done / self._total:.0%})"
        print(f"{self._label}: {share}, {rate:.1f}/s, {left} left  {note}".rstrip(), file=sys.stderr, flush=True)
