"""Signals that ask a job to stop (the end of an allocation, Ctrl-C), turned into a flag that the loop checks."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass
class StopRequest:
    """The name of the signal that asked to stop, if one did."""

    signal_name: str | None = None


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Catch the signals while the block runs; the first sets the flag, a second Ctrl-C acts as usual.

    A second SIGTERM does nothing: at a time limit, SLURM sends one to the step and another by way of `srun`.
    """
    request = StopRequest()
    previous = {number: signal.getsignal(number) for number in SIGNALS}

    def note(number: int, frame: FrameType | None) -> None:
        request.signal_name = signal.Signals(number).name
        signal.signal(signal.SIGINT, previous[signal.SIGINT])

    for number in SIGNALS:
        signal.signal(number, note)
    try:
        yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
