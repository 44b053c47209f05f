"""One attempt in a process of its own, with limits of time and memory, and what it did against the law.

The law: exit 0 with valid output, or exit 2 with one message that names the input. No traceback, no crash, no hang, no
more memory than is allowed, no file outside the given folder, no changed input.
"""

import hashlib
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import KinoflowError

SECONDS = 30.0  # of an attempt; most take a tenth of a second
MEMORY = 3 << 30  # bytes that an attempt may ask for beyond those of the process that it starts from
CRASHED = 70
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod")


@dataclass(frozen=True)
class Attempt:
    """Something to do in a `folder` that has `in` with the inputs and `out` for outputs.

    `work` returns an exit status, or raises a KinoflowError; `valid` is called after exit 0. A message must hold one of
    `names`, if there are any.
    """

    folder: Path
    work: Callable[[], int | None]
    valid: Callable[[], Any] = lambda: None
    names: Sequence[str] = ()

    def faults(self) -> list[str]:
        """Do it, and return what broke the law."""
        before = _checksums(self.folder / "in")
        for made in ("out", "tmp", "cwd"):
            shutil.rmtree(self.folder / made, ignore_errors=True)
            (self.folder / made).mkdir()
        status = self._status()
        said = (self.folder / "said").read_text("utf-8", "replace")
        faults = [*_faults_of(status, said, self.names), *_lines(self.folder / "strayed")]
        if _checksums(self.folder / "in") != before:
            faults.append("changed an input")
        return faults

    def _status(self) -> int | str:
        for left in ("said", "strayed"):
            (self.folder / left).write_bytes(b"")
        child = os.fork()
        if child == 0:
            self._be_the_child()
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else f"killed by signal {-code}"
            time.sleep(0.002)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return f"hung for {SECONDS:g} s"

    def _be_the_child(self) -> None:
        status = CRASHED
        try:
            os.setsid()
            file = os.open(self.folder / "said", os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(file, stream)
            sys.stdout, sys.stderr = (os.fdopen(os.dup(stream), "w", errors="replace") for stream in (1, 2))
            os.chdir(self.folder / "cwd")
            os.environ["TMPDIR"] = str(self.folder / "tmp")
            used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            _watch(self.folder)
            try:
                status = self.work() or 0
            except KinoflowError as error:
                status = 2
                print(f"error: {error}", file=sys.stderr)
            if status == 0:
                self.valid()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else CRASHED
        except BaseException:
            status = CRASHED
            with suppress(BaseException):
                traceback.print_exc()
        finally:
            with suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)


def _watch(folder: Path) -> None:
    """Note each file that is written outside of the attempt's own folders."""
    own = tuple(str((folder / name).resolve()) for name in ("out", "tmp", "cwd"))
    strays = os.open(folder / "strayed", os.O_WRONLY | os.O_APPEND)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if not isinstance(flags, int) or not flags & _WRITES:
                return
        elif event in _CHANGES:
            path = arguments[0]
        else:
            return
        if isinstance(path, str | bytes | os.PathLike):
            place = os.path.realpath(os.fsdecode(path))
            if not place.startswith((*own, "/dev/")):
                os.write(strays, f"{event} outside of its folders: {place}\n".encode())

    sys.addaudithook(hook)


def _faults_of(status: int | str, said: str, names: Sequence[str]) -> list[str]:
    """Return what is wrong with an exit status and all that was printed."""
    if status not in (0, 2):
        return [f"exit {status}: {signature(said)}"]
    if "Traceback (most recent call last)" in said:
        return [f"a traceback: {signature(said)}"]
    if status == 2:
        messages = re.findall(r"^error: .*", said, re.MULTILINE)
        if len(messages) != 1:
            return [f"{len(messages)} messages"]
        message = said[said.index(messages[0]) :]
        if names and not any(name in message for name in names):
            return [f"a message that names none of the inputs: {message[:200]}"]
    return []


def signature(said: str) -> str:
    """Return where the last traceback ended, to tell findings apart."""
    places = re.findall(r'^  File "(?:.*/)?(pipeline/[^"]*)", line \d+, in (\S+)', said, re.MULTILINE)
    last = [line for line in said.splitlines() if line.strip()]
    place = f" in {places[-1][0]}:{places[-1][1]}" if places else ""
    return f"{last[-1][:160] if last else 'nothing was said'}{place}"


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").splitlines()
