"""Python loads this at its start where the folder is on its path: only a fetch may reach another machine.

Each attempt to connect or to look up a name is refused, and noted in a file. Beside it, a list says which processes
were guarded so. Sockets between processes of one machine
that are no internet sockets are not meant.
"""

import os
import sys
from typing import Any

SENT = ("socket.connect", "socket.sendto", "socket.sendmsg")
OUTWARD = {*SENT, "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in OUTWARD or "fetch" in sys.orig_argv:
        return
    if event in SENT and not isinstance(arguments[-1], tuple):
        return  # the address of a Unix socket is a path
    with open(os.environ["TEST_SOCKETS"], "a", encoding="utf-8") as stream:
        stream.write(f"{event} {arguments[-1]!r} by {sys.orig_argv}\n")
    raise PermissionError(f"{event}: no network in this test")


sys.addaudithook(_refuse)
with open(f"{os.environ['TEST_SOCKETS']}.guarded", "a", encoding="utf-8") as guarded:
    guarded.write(f"{' '.join(sys.orig_argv[1:4])}\n")
