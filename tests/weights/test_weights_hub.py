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
from typing import Any

import pytest
from conftest import Salts
from huggingface_hub import CommitInfo, HfApi

from pipeline.errors import KinoflowError
from pipeline.weights.finding import folder_of, publish
from pipeline.weights.folder import Weights

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


def test_a_folder_is_uploaded_whole_and_in_one_commit(
    salts: Salts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Local(HfApi):
        """A hub in a folder of this machine."""

        def create_repo(self, repo_id: str, **given: Any) -> Any:
            (tmp_path / repo_id).mkdir(parents=True)

        def upload_folder(self, *, repo_id: str, folder_path: Path, allow_patterns: list[str], **given: Any) -> Any:
            for name in allow_patterns:
                if (folder_path / name).is_file():
                    shutil.copy(folder_path / name, tmp_path / repo_id / name)
            return CommitInfo(f"hub/{repo_id}/commit/{COMMIT}", "", "", COMMIT)

    monkeypatch.setattr("huggingface_hub.HfApi", Local)
    assert publish(salts.exported, REPOSITORY) == f"hub/{REPOSITORY}/commit/{COMMIT}"
    there = tmp_path / REPOSITORY
    assert {file.name for file in there.iterdir()} == {file.name for file in salts.exported.iterdir()}
    assert folder_of(str(there)) == there
    assert Weights.open(there).index == Weights.open(salts.exported).index


def test_an_upload_that_fails_says_that_the_folder_is_there_and_how_to_go_on(
    salts: Salts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr(HfApi, "create_repo", refuse)
    with pytest.raises(KinoflowError, match=r"not uploaded \(no network\); .*hf upload someone/our_salts"):
        publish(salts.exported, REPOSITORY)
