"""Several processes and one resource."""

import errno
import fcntl
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline.fetch.fetching import fetch
from pipeline.fetch.resource import Resource
from pipeline.store.locks import exclusive

Make = Callable[..., Resource]
CONTENT = bytes(range(256)) * 1000

SCRIPT = """
import logging, sys
from pathlib import Path
from pipeline.fetch.fetching import fetch
from pipeline.fetch.resource import Resource
logging.basicConfig(level=logging.INFO, format="%(message)s")
resource = Resource("group", "file.bin", sys.argv[1], "test", addresses=(sys.argv[2],))
print(fetch(resource, Path(sys.argv[3]), progress=False))
"""


def start(resource: Resource, cache: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, resource.sha256, resource.addresses[0], str(cache)]
    root = Path(pipeline.__file__).parents[1]
    return subprocess.Popen(command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_second_process_waits_and_takes_the_result_of_the_first(
    server: Any, tmp_path: Path, make_resource: Make
) -> None:
    server.content, server.gate = CONTENT, threading.Event()
    resource = make_resource(CONTENT, addresses=(server.address(),))
    with start(resource, tmp_path) as first, start(resource, tmp_path) as second:
        processes = {process.stderr: process for process in (first, second)}
        # Whichever process comes second says that it waits; only then may the server finish the download of the other.
        said: list[str] = []
        waiting = threading.Event()

        def listen(stream: Any) -> None:
            for line in stream:
                said.append(line)
                if "waiting for another process that is fetching group/file.bin" in line:
                    waiting.set()

        listeners = [threading.Thread(target=listen, args=(stream,)) for stream in processes]
        for listener in listeners:
            listener.start()
        noticed = waiting.wait(timeout=60)
        server.gate.set()
        paths = [process.stdout.read().strip() for process in (first, second) if process.stdout]
        for listener in listeners:
            listener.join()
    assert noticed, said
    assert [first.returncode, second.returncode] == [0, 0], said
    assert paths == [str(tmp_path / "group" / "file.bin")] * 2
    assert (tmp_path / "group" / "file.bin").read_bytes() == CONTENT
    assert server.asked == [None]
    assert [path.name for path in (tmp_path / "group").iterdir()] == ["file.bin"]


def test_no_update_is_lost_under_the_lock(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")

    def work() -> None:
        for _ in range(20):
            with exclusive(tmp_path / ".lock", "counting"):
                counter.write_text(str(int(counter.read_text()) + 1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.read_text() == "160"
    assert list(tmp_path.iterdir()) == [counter]


def test_lock_on_a_file_that_the_last_holder_removed_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".lock"
    flock = fcntl.flock
    removed: list[bool] = []

    def removed_meanwhile(descriptor: int, operation: int) -> None:
        flock(descriptor, operation)
        if not removed:
            removed.append(True)
            path.unlink()

    monkeypatch.setattr(fcntl, "flock", removed_meanwhile)
    with exclusive(path, "testing"):
        assert path.exists()


def test_file_system_without_locks_still_serves(
    tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    (tmp_path / "mirror" / "group").mkdir(parents=True)
    (tmp_path / "mirror" / "group" / "file.bin").write_bytes(CONTENT)
    path = fetch(make_resource(CONTENT), tmp_path / "cache", mirror=tmp_path / "mirror")
    assert path.read_bytes() == CONTENT
