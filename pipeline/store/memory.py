"""The memory that there is, and an error before work that cannot fit into it."""

import os
import resource
from pathlib import Path

from pipeline.errors import KinoflowError

CGROUPS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def machine_memory() -> int:
    """Return the bytes that this process may have at most: those of the machine, or a lower limit of its own."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    limits += [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    texts = [file.read_text().strip() for file in CGROUPS if file.is_file()]
    return min(limits + [int(text) for text in texts if text.isdigit()])


def check_room(needed: float, what: str, fix: str, room: int | None = None, place: str = "this machine") -> None:
    """Raise if something needs more bytes than there are in the machine, or in the `room` of another place."""
    have = machine_memory() if room is None else room
    if needed > have:
        sizes = f"needs {needed / 1e9:,.3g} GB of memory or more, {place} has {have / 1e9:,.3g} GB"
        raise KinoflowError(f"{what} {sizes}; {fix}")
