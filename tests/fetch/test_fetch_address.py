"""Downloads from a server on this machine: whole, resumed, broken, refused."""

import io
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline.fetch import address
from pipeline.fetch.address import RETRIES
from pipeline.fetch.fetching import fetch
from pipeline.fetch.resource import FetchError, Resource

Make = Callable[..., Resource]
FileServer = Any  # the class is in conftest.py, which not every import mode of pytest lets a test import
CONTENT = bytes(range(256)) * 1000
HALF = len(CONTENT) // 2


def part_with(cache: Path, content: bytes) -> Path:
    part = cache / "group" / "file.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(content)
    return part


def names_in(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "group").iterdir())


def test_whole_file_is_downloaded_with_one_request(server: FileServer, tmp_path: Path, make_resource: Make) -> None:
    server.content = CONTENT
    path = fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert path.read_bytes() == CONTENT
    assert server.asked == [None]
    assert names_in(tmp_path) == ["file.bin"]


def test_partial_download_is_resumed_and_only_the_rest_is_sent(
    server: FileServer, tmp_path: Path, make_resource: Make
) -> None:
    server.content = CONTENT
    part_with(tmp_path, CONTENT[:1000])
    path = fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert path.read_bytes() == CONTENT
    assert server.asked == ["bytes=1000-"]
    assert server.sent == [len(CONTENT) - 1000]
    assert names_in(tmp_path) == ["file.bin"]


def test_download_of_a_killed_process_is_resumed(server: FileServer, tmp_path: Path, make_resource: Make) -> None:
    server.content = CONTENT
    server.gate = threading.Event()
    resource = make_resource(CONTENT, addresses=(server.address(),))
    script = (
        "import sys; from pathlib import Path; from pipeline.fetch.fetching import fetch; "
        "from pipeline.fetch.resource import Resource; "
        "fetch(Resource('group', 'file.bin', sys.argv[1], 'test', addresses=(sys.argv[2],)), Path(sys.argv[3]))"
    )
    root = Path(pipeline.__file__).parents[1]
    command = [sys.executable, "-c", script, resource.sha256, server.address(), str(tmp_path)]
    part = tmp_path / "group" / "file.bin.part"
    with subprocess.Popen(command, cwd=root, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (part.exists() and part.stat().st_size == HALF):
            time.sleep(0.01)
        process.kill()
    server.gate.set()
    assert part.stat().st_size == HALF

    path = fetch(resource, tmp_path, progress=False)
    assert path.read_bytes() == CONTENT
    assert server.asked[1:] == [f"bytes={HALF}-"]
    assert names_in(tmp_path) == ["file.bin"]


def test_connection_cut_in_the_middle_goes_on_where_it_stopped(
    server: FileServer, tmp_path: Path, make_resource: Make
) -> None:
    server.content = CONTENT
    server.cuts = [1000, 500]
    path = fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert path.read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1000-", "bytes=1500-"]


def test_steady_progress_outlives_the_number_of_retries(
    server: FileServer, tmp_path: Path, make_resource: Make
) -> None:
    server.content = CONTENT
    server.cuts = [100] * (RETRIES + 5)
    assert fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False).exists()


def test_server_without_ranges_that_always_cuts_is_given_up(
    server: FileServer, tmp_path: Path, make_resource: Make
) -> None:
    server.content = CONTENT
    server.ranges = False
    server.cuts = [100] * 1000
    with pytest.raises(FetchError, match=f"ended after 100 of {len(CONTENT)} bytes .after {RETRIES} retries"):
        fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert len(server.asked) == RETRIES + 1


def test_server_without_ranges_starts_anew(server: FileServer, tmp_path: Path, make_resource: Make) -> None:
    server.content = CONTENT
    server.ranges = False
    part_with(tmp_path, CONTENT[:1000])
    path = fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert path.read_bytes() == CONTENT
    assert server.sent == [len(CONTENT)]


def test_partial_download_of_something_else_starts_anew(
    server: FileServer, tmp_path: Path, make_resource: Make
) -> None:
    server.content = CONTENT
    part_with(tmp_path, b"x" * 1000)
    path = fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert path.read_bytes() == CONTENT
    assert server.asked == ["bytes=1000-", None]


def test_partial_download_longer_than_the_file_starts_anew(
    server: FileServer, tmp_path: Path, make_resource: Make
) -> None:
    server.content = CONTENT
    part_with(tmp_path, CONTENT + b"more")
    path = fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert path.read_bytes() == CONTENT
    assert server.asked == [f"bytes={len(CONTENT) + 4}-", None]


def test_complete_partial_download_needs_no_request(server: FileServer, tmp_path: Path, make_resource: Make) -> None:
    part_with(tmp_path, CONTENT)
    path = fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert path.read_bytes() == CONTENT
    assert server.asked == []


def test_wrong_checksum_is_reported_and_the_download_deleted(
    server: FileServer, tmp_path: Path, make_resource: Make
) -> None:
    server.content = b"something else"
    resource = make_resource(CONTENT, addresses=(server.address(),))
    with pytest.raises(FetchError, match=rf"checksum differs: expected {resource.sha256} got \w{{64}}"):
        fetch(resource, tmp_path, progress=False)
    assert names_in(tmp_path) == []


def test_server_that_sends_too_much_is_stopped(server: FileServer, tmp_path: Path, make_resource: Make) -> None:
    server.content = CONTENT * 20
    resource = make_resource(CONTENT, addresses=(server.address(),), size=len(CONTENT))
    with pytest.raises(FetchError, match=f"larger than the expected {len(CONTENT)} bytes"):
        fetch(resource, tmp_path, progress=False)
    assert names_in(tmp_path) == []


def test_length_that_the_server_does_not_say_is_taken_from_the_resource(
    server: FileServer, tmp_path: Path, make_resource: Make
) -> None:
    server.content = CONTENT
    server.say_length = False
    server.cuts = [1000]
    resource = make_resource(CONTENT, addresses=(server.address(),), size=len(CONTENT))
    assert fetch(resource, tmp_path, progress=False).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1000-"]


def test_missing_file_is_not_tried_again(server: FileServer, tmp_path: Path, make_resource: Make) -> None:
    server.statuses = [404] * 10
    with pytest.raises(FetchError, match=r"address: http://.*/file\.bin: HTTP 404 Not Found"):
        fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert len(server.asked) == 1


def test_busy_server_is_tried_again(server: FileServer, tmp_path: Path, make_resource: Make) -> None:
    server.content = CONTENT
    server.statuses = [503, 429]
    assert fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False).exists()
    assert len(server.asked) == 3


def test_waits_double_and_the_server_may_ask_for_longer_ones(
    server: FileServer, tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(address, "BACKOFF", 1.0)
    monkeypatch.setattr(time, "sleep", waits.append)
    resource = make_resource(CONTENT, addresses=(server.address(),))
    server.statuses = [503] * (RETRIES + 1)
    with pytest.raises(FetchError, match=f"HTTP 503 Service Unavailable .after {RETRIES} retries"):
        fetch(resource, tmp_path, progress=False)
    assert waits == [1.0, 2.0, 4.0]

    waits.clear()
    server.content, server.statuses, server.retry_after = CONTENT, [429, 429], "7"
    fetch(resource, tmp_path, progress=False)
    assert waits == [7.0, 7.0]


def test_refused_connection_names_the_host(server: FileServer, tmp_path: Path, make_resource: Make) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: nobody else gets the port, and it refuses
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}/file.bin"
        with pytest.raises(FetchError, match=r"127\.0\.0\.1 refused the connection(.|\n)*check the network"):
            fetch(make_resource(CONTENT, addresses=(closed,)), tmp_path, progress=False)


def test_host_that_does_not_resolve_is_named(
    tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise urllib.error.URLError(socket.gaierror(socket.EAI_NONAME, "Name or service not known"))

    monkeypatch.setattr(urllib.request, "urlopen", fail)
    with pytest.raises(FetchError, match=r"could not resolve host data\.example\.org"):
        fetch(make_resource(CONTENT, addresses=("https://data.example.org/f",)), tmp_path, progress=False)


def test_silent_server_is_left_after_the_time_limit(
    server: FileServer, tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.content, server.gate = CONTENT, threading.Event()
    monkeypatch.setattr(address, "TIMEOUT", 0.05)
    monkeypatch.setattr(address, "RETRIES", 0)
    with pytest.raises(FetchError, match=r"no answer from 127\.0\.0\.1 within"):
        fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert names_in(tmp_path) == ["file.bin.part"]


def test_second_address_is_used_when_the_first_fails(server: FileServer, tmp_path: Path, make_resource: Make) -> None:
    server.content = CONTENT
    server.answers["/wrong"] = b"something else"
    resource = make_resource(CONTENT, addresses=(server.address("/wrong"), server.address("/right")))
    assert fetch(resource, tmp_path, progress=False).read_bytes() == CONTENT


def test_progress_bar_shows_rate_and_time_left(
    server: FileServer, tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.content = CONTENT
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=True)
    assert re.search(r"group/file\.bin: 100%.*256k/256k \[\d\d:\d\d<\d\d:\d\d, .*B/s\]", screen.getvalue())


def test_no_progress_bar_when_not_wanted(
    server: FileServer, tmp_path: Path, make_resource: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    server.content = CONTENT
    fetch(make_resource(CONTENT, addresses=(server.address(),)), tmp_path, progress=False)
    assert capsys.readouterr().err == ""
