"""Functions that workers run in the tests; a program that runs tasks, to be interrupted."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pipeline.crystals.workers import run_tasks


def double(item: int) -> int:
    return 2 * item


def add(context: int, item: int) -> int:
    return context + item


def obey(item: str) -> Any:
    """Do what an item says."""
    if item == "sleep":
        time.sleep(600)
    if item == "raise":
        raise ValueError("first line\nsecond line")
    if item == "raise silently":
        raise ValueError
    if item == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if item.startswith("killed before ") and not (mark := Path(item.removeprefix("killed before "))).exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if item.startswith("killed and counted in "):
        with Path(item.removeprefix("killed and counted in ")).open("a") as stream:
            stream.write("killed\n")
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "exit":
        sys.exit(3)
    if item == "unsendable":
        return lambda: None
    return os.getpid()


def threads(item: int) -> tuple[str | None, int]:
    import torch

    return os.environ.get("OMP_NUM_THREADS"), torch.get_num_threads()


def loaded() -> int:
    return 100


def not_loaded() -> int:
    raise OSError("no such weights")


def never_loaded() -> int:
    time.sleep(600)
    return 0


def dies() -> int:
    os._exit(7)


def leave_mark(folder: str) -> None:
    """Write the process's number, then do not end."""
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)


if __name__ == "__main__":
    list(run_tasks(leave_mark, [sys.argv[1]] * 2, workers=2, seconds=600, label="marks"))
