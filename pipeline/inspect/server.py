"""A server that shows the results page on this machine only, with the progress of a run. It changes nothing."""

import io
import json
import sys
import tempfile
import threading
import time
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pipeline.config import Config
from pipeline.errors import KinoflowError, without_secrets
from pipeline.inspect.live import progress_of
from pipeline.page.build import INDEX, build_page

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:"
)


class Page:
    """The page of a scale's results in a temporary folder, built again when there are new figures."""

    def __init__(self, config: Config, results: Path, folder: Path) -> None:
        self.config, self.results, self.folder = config, results, folder
        self._built, self._lock = 0.0, threading.Lock()

    def index(self) -> bytes:
        """Return the page, which asks for the progress of the run."""
        with self._lock:
            if self.progress()["changed"] or not self._built:
                begun = time.time()
                build_page(self.config, self.results, self.folder)
                self._built = begun
        return (self.folder / INDEX).read_bytes().replace(b'data-live="no"', b'data-live="yes"')

    def progress(self) -> dict[str, Any]:
        """Return the progress of the run."""
        return progress_of(self.config, self.results, self._built)


class Handler(SimpleHTTPRequestHandler):
    """Answers GET and HEAD for files of the page, and for `live.json`."""

    def __init__(self, *arguments: Any, page: Page, **options: Any) -> None:
        self.page = page
        super().__init__(*arguments, directory=str(page.folder), **options)

    def send_head(self) -> Any:
        """Send the headers, and return the file; refuse what lies outside the folder of the page."""
        path = unquote(self.path.partition("?")[0].partition("#")[0])
        if self.headers.get("Host", "").partition(":")[0] not in NAMES:
            return self.send_error(HTTPStatus.FORBIDDEN, "This server is for this machine only")
        if ".." in path.replace("\\", "/").split("/") or "\0" in path:
            return self.send_error(HTTPStatus.FORBIDDEN, "Outside the page")
        try:
            if path == "/live.json":
                return self._send(json.dumps(self.page.progress()).encode(), "application/json")
            if path in ("/", f"/{INDEX}"):
                return self._send(self.page.index(), "text/html; charset=utf-8")
        except (KinoflowError, OSError) as error:
            print(f"error: {without_secrets(str(error))}", file=sys.stderr, flush=True)
            return self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, "A result cannot be read", str(error))
        return super().send_head()

    def list_directory(self, path: Any) -> None:
        """Show no folders."""
        self.send_error(HTTPStatus.NOT_FOUND, "No such file")

    def end_headers(self) -> None:
        """Let the page load nothing from elsewhere, and keep nothing."""
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing of requests that were answered; errors go through `log_error`."""

    def _send(self, content: bytes, kind: str) -> Any:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return io.BytesIO(content)


def new_server(page: Page, port: int) -> ThreadingHTTPServer:
    """Return a server for this machine only; port 0 takes any that is free."""
    return ThreadingHTTPServer((HOST, port), partial(Handler, page=page))


def serve_page(config: Config, results: Path, port: int) -> None:
    """Serve the page until it is interrupted."""
    with tempfile.TemporaryDirectory(prefix="kinoflow-page-") as folder:
        page = Page(config, results, Path(folder))
        try:
            made = new_server(page, port)
        except OSError as error:
            raise KinoflowError(f"--port {port}: {error.strerror}; name another, or 0 for any that is free") from error
        with made as server:
            print(f"http://{HOST}:{server.server_address[1]}/ (Ctrl-C ends it)", flush=True)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                print("ended")
