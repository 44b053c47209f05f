"""Weights of the Hugging Face Hub, from a server on this machine that answers as the Hub does."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from conftest import Salts

ROOT = str(Path(__file__).parents[2])
COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "someone/our_salts"


@pytest.fixture
def hub(salts: Salts) -> Iterator[ThreadingHTTPServer]:
    """A server with one repository."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path.startswith(f"/api/models/{REPOSITORY}/tree"):
                files = [
                    {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": "0"}
                    for file in salts.exported.iterdir()
                ]
                return self._answer(json.dumps(files).encode())
            if path.startswith(f"/api/models/{REPOSITORY}"):
                return self._answer(json.dumps({"id": REPOSITORY, "sha": COMMIT, "siblings": []}).encode())
            begin = f"/{REPOSITORY}/resolve/{COMMIT}/"
            file = salts.exported / path.removeprefix(begin)
            return self._answer(file.read_bytes() if path.startswith(begin) and file.is_file() else None)

        do_HEAD = do_GET

        def _answer(self, content: bytes | None) -> None:
            self.send_response(404 if content is None else 200)
            if content is None:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("ETag", hashlib.sha256(content or b"").hexdigest())
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            if self.command == "GET" and content:
                self.wfile.write(content)

        def log_message(self, *given: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def generate(hub: ThreadingHTTPServer, tmp_path: Path) -> Callable[[str], str]:
    """Return a function that generates with weights in a process of its own, and returns the error."""
    own = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(tmp_path / "hub"), "PYTHONPATH": ROOT}

    def run(weights: str) -> str:
        command = [sys.executable, "-m", "pipeline", "generate-crystals", "--weights", weights]
        done = subprocess.run(
            [*command, "--count", "2", "--output", "made"],
            cwd=tmp_path,
            env=os.environ | own,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) == (tmp_path / "made").is_dir(), done.stderr
        return done.stderr

    return run


def test_weights_are_downloaded_and_checked(generate: Callable[[str], str], tmp_path: Path) -> None:
    generate(f"hub:{REPOSITORY}")
    assert (tmp_path / "made/crystals.parquet").is_file()
    shutil.rmtree(tmp_path / "made")
    (cached,) = (tmp_path / "hub").rglob("snapshots/*/network.safetensors")
    content = bytearray(cached.read_bytes())
    content[-1] ^= 1
    cached.resolve().write_bytes(content)
    assert "network.safetensors: is damaged" in generate(f"hub:{REPOSITORY}")


def test_a_hub_that_lacks_them_or_cannot_be_reached_is_reported(
    hub: ThreadingHTTPServer, generate: Callable[[str], str]
) -> None:
    assert "error: --weights hub:someone/else: cannot be had from the Hub" in generate("hub:someone/else")
    assert "error: --weights hub:no/such/name: cannot be had from the Hub" in generate("hub:no/such/name")
    hub.shutdown()
    hub.server_close()
    said = generate(f"hub:{REPOSITORY}")
    assert f"error: --weights hub:{REPOSITORY}: cannot be had from the Hub" in said
    assert "give the path of a copy" in said
