"""A record of this process: its command, its machine, and the time and memory used so far."""

import platform
import resource
import socket
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

_STARTED, _CLOCK = datetime.now(UTC), time.monotonic()  # at import, which the command line does first
_BYTES = 1 if sys.platform == "darwin" else 1024  # per unit of ru_maxrss
_command: list[str] = []
_taken_up: list[str] = []


def set_command(arguments: Sequence[str]) -> None:
    """Remember the command line of this process, given its arguments."""
    _command[:] = ["python", "-m", "pipeline", *arguments]


def note_resumption(work: str) -> None:
    """Remember that this process resumes earlier work: its time and memory are not all that the work took."""
    _taken_up.append(work)


def process_record() -> dict[str, Any]:
    """Return the command, device, host, start, seconds and peak memory of this process so far.

    `peak_memory_mb` is the peak of the process or of its largest finished child, whichever is more. If work was
    `resumed`, only the last attempt counts.
    """
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(kind).ru_maxrss for kind in kinds) * _BYTES
    return {
        "command": list(_command or sys.orig_argv),
        "device": device(),
        "host": socket.gethostname(),
        "started": _STARTED.isoformat(timespec="milliseconds"),
        "wall_seconds": round(time.monotonic() - _CLOCK, 3),
        "peak_memory_mb": round(peak / 1e6, 1),
        "resumed": bool(_taken_up),
    }


def device() -> str:
    """Return the names of the CUDA devices that were used or, if none was, the model of the processor."""
    torch: Any = sys.modules.get("torch")  # if nothing imported it, nothing was computed with it
    if torch is None or not torch.cuda.is_initialized():
        return processor()
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        used = list(range(min(torch.distributed.get_world_size(), torch.cuda.device_count())))  # one per process
    else:
        used = [number for number in range(torch.cuda.device_count()) if torch.cuda.max_memory_allocated(number)]
    return ", ".join(torch.cuda.get_device_name(number) for number in used) or processor()


@cache
def processor() -> str:
    """Return the model of the processor, as Linux names it, or the kind of machine."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text(encoding="utf-8", errors="replace").splitlines() if described.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
