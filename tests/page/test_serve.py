"""The server that shows the page with the progress of a run."""

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from small_results import SmallResults

from pipeline.config.loading import load_config
from pipeline.inspect.live import progress_of, write_planned
from pipeline.inspect.server import HOST, Page, new_server
from pipeline.store.atomic import write_json
from pipeline.store.places import Place


@pytest.fixture
def server(small: SmallResults, tmp_path: Path) -> Iterator[ThreadingHTTPServer]:
    page = Page(load_config(small.config), small.folder, tmp_path / "page")
    with new_server(page, 0) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server: ThreadingHTTPServer, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    """Send a path just as it is; libraries would tidy it up."""
    connection = http.client.HTTPConnection(HOST, server.server_address[1])
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_it_serves_the_page_on_this_machine_only(server: ThreadingHTTPServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    status, index = ask(server, "/")
    assert (status, b'data-live="yes"' in index) == (200, True)
    assert ask(server, "/data/checkerboard.js")[0] == 200
    assert ask(server, "/", Host="evil.example:80")[0] == 403


@pytest.mark.parametrize(
    "path", ["/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/data/../../x", "/..%5c..%5cx", "/data%00.js"]
)
def test_what_lies_outside_the_page_is_refused(server: ThreadingHTTPServer, path: str) -> None:
    ask(server, "/")
    status, answer = ask(server, path)
    assert status == 403
    assert b"root:" not in answer


def test_it_reads_only(server: ThreadingHTTPServer, small: SmallResults) -> None:
    before = {file: file.stat().st_mtime_ns for file in small.folder.rglob("*")}
    for method in ("POST", "PUT", "DELETE"):
        assert ask(server, "/index.html", method)[0] == 501
    ask(server, "/")
    assert ask(server, "/data/")[0] == 404, "folders are not shown"
    assert {file: file.stat().st_mtime_ns for file in small.folder.rglob("*")} == before


class Planned:
    """A job as the workflow plans it."""

    class rule:
        name = "train"

    def __init__(self, folder: Path, name: str) -> None:
        self.wildcards_dict = {"experiment": "checkerboard", "name": name}
        self.output, self.log, self.benchmark = [folder / f"{name}.out"], [folder / f"{name}.log"], None


def test_progress_counts_what_is_done_and_shows_what_runs(small: SmallResults, tmp_path: Path) -> None:
    config, results = load_config(small.config), tmp_path / "results"
    assert progress_of(config, results)["note"] == "No run was started in these results yet."
    write_planned(Place.PLANNED.under(results), [Planned(tmp_path, name) for name in ("metric", "mask_linear", "c")])
    (tmp_path / "metric.out").write_text("made")
    (tmp_path / "mask_linear.log").write_text("batches\ntraining: 4/20 steps (20%)\n\n")
    history = Place.TRAINING_HISTORY.under(results, experiment="checkerboard", name="mask_linear")
    history.parent.mkdir(parents=True)
    history.write_text("step,loss,validation_loss\n4,2.5,\n8,2.25,2.0\n")
    found = progress_of(config, results)
    assert (found["done"], found["planned"], found["at_work"]) == (1, 3, True)
    assert found["running"] == [{"name": "train checkerboard mask_linear", "last": "training: 4/20 steps (20%)"}]
    losses = {"step": [4.0, 8.0], "loss": [2.5, 2.25], "validation_loss": [None, 2.0]}
    assert found["losses"] == {"checkerboard": {"mask_linear": losses}}


def test_a_run_that_has_ended_is_not_at_work(small: SmallResults, tmp_path: Path) -> None:
    job = {"rule": "train", "name": "train a", "outputs": ["nowhere"], "benchmark": "", "log": str(tmp_path / "log")}
    (tmp_path / "log").write_text("killed")
    planned: dict[str, Any] = {"host": socket.gethostname(), "jobs": [job], "started": 0.0}
    planned["process"] = os.getpid()  # which is younger than that run
    write_json(Place.PLANNED.under(tmp_path), planned)
    found = progress_of(load_config(small.config), tmp_path)
    assert (found["at_work"], found["running"]) == (False, [])
    assert found["note"].startswith("1 were begun and not finished")


def test_new_figures_are_offered_and_the_next_load_has_them(server: ThreadingHTTPServer, small: SmallResults) -> None:
    ask(server, "/")
    planned = {"host": "", "process": 0, "started": time.time(), "jobs": []}
    write_json(Place.PLANNED.under(small.folder), planned)
    score = Place.SCORES.under(small.folder, experiment="checkerboard", name="metric")
    later = time.time() + 5
    os.utime(score, (later, later))
    assert json.loads(ask(server, "/live.json")[1])["changed"] is True
    Place.PLANNED.under(small.folder).unlink()
