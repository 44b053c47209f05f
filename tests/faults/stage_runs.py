"""A stage that is run in a process of its own, undisturbed or with a fault, and what must then be the same."""

import os
import shutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from injection import ERRORS, KILLED, Injection


@dataclass(frozen=True)
class StageRun:
    """A stage in a folder: `run` does its work there, and `outputs` are the names of the files that it makes."""

    start: Path
    run: Callable[[Path], int]
    outputs: tuple[str, ...]

    def calm(self, folder: Path) -> tuple[dict[str, bytes], list[str]]:
        """Return the outputs of an undisturbed run, and its writes."""
        self._begin(folder)
        status, said = in_child(lambda: self._counted(folder), folder.with_name("said"))
        assert status == 0, said
        return self._found(folder), (folder / "writes").read_text().split()

    def faults(self, folder: Path, fault: tuple[int, str], calm: dict[str, bytes]) -> list[str]:
        """Return what is wrong after a run with a fault, and after the next run."""
        self._begin(folder)
        at, kind = fault
        said = folder.with_name("said")
        status, text = in_child(lambda: self._disturbed(folder, at, kind), said)
        wrong = []
        if status not in ((0, 2) if kind in ERRORS else (KILLED,)):
            wrong.append(f"exit {status}: {text[-500:]}")
        if "Traceback" in text or (status == 2 and f"\n{text}".count("\nerror: ") != 1):
            wrong.append(f"no single message: {text[-500:]}")
        wrong += [
            f"{name} is half made" for name, content in self._found(folder).items() if not _whole(content, calm[name])
        ]
        status, text = in_child(lambda: self.run(folder), said)
        if status != 0:
            wrong.append(f"the next run: exit {status}: {text[-500:]}")
        found = self._found(folder)
        wrong += [f"{name} differs from that of a calm run" for name in calm if found.get(name) != calm[name]]
        wrong += [f"{name} has no record" for name in calm if not (folder / f"{name}.provenance.json").is_file()]
        return [f"{kind} at write {at}: {one}" for one in wrong]

    def _begin(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.start, folder)

    def _found(self, folder: Path) -> dict[str, bytes]:
        return {name: (folder / name).read_bytes() for name in self.outputs if (folder / name).is_file()}

    def _counted(self, folder: Path) -> int:
        injection = Injection(folder)
        injection.start()
        status = self.run(folder)
        writes = " ".join(injection.writes)
        (folder / "writes").write_text(writes)
        return status

    def _disturbed(self, folder: Path, at: int, kind: str) -> int:
        Injection(folder, at, kind).start()
        return self.run(folder)


def _whole(content: bytes, calm: bytes) -> bool:
    """Return whether a file is as in a calm run, or has its first lines: a history grows with the checkpoints."""
    return content == calm or (calm.startswith(content) and content.endswith(b"\n"))


def in_child(work: Callable[[], int], said: Path) -> tuple[int, str]:
    """Return the exit status of some work in a process of its own, and all that it printed."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, 1)
            os.dup2(file, 2)
            sys.stdout, sys.stderr = (os.fdopen(os.dup(stream), "w", buffering=1) for stream in (1, 2))
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.read_text("utf-8", "replace")
