"""A file server on this machine that can refuse ranges, cut connections and answer with errors."""

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pipeline.fetch import address
from pipeline.fetch.resource import Resource


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "network: needs a package index; leave out with -m 'not network'")


class FileServer(ThreadingHTTPServer):
    """Serves ``content`` under every path and remembers the Range header and the bytes sent of every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = b""
        self.ranges = True
        self.say_length = True
        self.statuses: list[int] = []  # answered first, one a request
        self.retry_after: str | None = None
        self.cuts: list[int] = []  # the connection ends after so many bytes, one a request
        self.asked: list[str | None] = []
        self.sent: list[int] = []
        self.gate: threading.Event | None = None  # the second half of the content waits for it
        self.answers: dict[str, bytes] = {}  # other content for some paths

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that leave early, as those do that the tests stop half-way."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def address(self, path: str = "/file.bin") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        server = self.server
        asked = self.headers.get("Range")
        server.asked.append(asked)
        if server.statuses:
            self.send_response(server.statuses.pop(0))
            if server.retry_after is not None:
                self.send_header("Retry-After", server.retry_after)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = server.answers.get(self.path, server.content)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and server.ranges else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        body = content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if server.say_length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if server.cuts:
            body = body[: server.cuts.pop(0)]
        server.sent.append(len(body))  # before the last byte, after which the test may already look
        if server.gate is not None:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            server.gate.wait()
            self.wfile.write(body[len(body) // 2 :])
        else:
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Keep the test output quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(address, "BACKOFF", 0.0)
    running = FileServer()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    if running.gate is not None:
        running.gate.set()
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KINOFLOW_MIRROR", raising=False)


@pytest.fixture
def make_resource() -> Callable[..., Resource]:
    def make(content: bytes, **sources: Any) -> Resource:
        digest = hashlib.sha256(content).hexdigest()
        return Resource("group", "file.bin", digest, "made for the test", **sources)

    return make
