"""Results that were edited or damaged are named by the commands that show them; the server says so and goes on."""

import http.client
import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from world import World

from pipeline.config.loading import load_config
from pipeline.inspect.server import HOST, Page, new_server
from pipeline.store.places import Place

RUN = "checkerboard/metric"
SCORES = '{"conditions": {"run": "metric"}, "metrics": {"total_variation": %s}}'


@pytest.fixture
def results(world: World, tmp_path: Path) -> Path:
    """The world's results, to be spoilt."""
    return Path(shutil.copytree(world.folder / "results", tmp_path / "results")) / "tiny"


@pytest.fixture
def said(world: World, results: Path, only_message: Callable[[int], str]) -> Callable[..., str]:
    """Return a function that runs a command on the results, which must fail, and returns its only message."""
    return lambda *arguments: only_message(world.run(*arguments, "--set", f"results={results.parent}"))


@pytest.mark.parametrize(
    "file, content",
    [
        (Place.SCORES, "[1]"),
        (Place.SCORES, SCORES % "NaN"),
        (Place.SCORES, SCORES % "[1]"),
        (Place.TRAINING_HISTORY, "step,loss,validation_loss\n1,much,2\n"),
        (Place.TRAINING_HISTORY, "a,b\n1,2\n"),
        (Place.TRAINING_HISTORY, "\udcff"),
    ],
    ids=["list", "nan", "nested", "text", "columns", "bytes"],
)
def test_what_is_no_result_is_refused_by_its_file(
    results: Path, said: Callable[..., str], tmp_path: Path, file: Place, content: str
) -> None:
    spoilt = file.under(results, experiment="checkerboard", name="metric")
    spoilt.parent.mkdir(parents=True, exist_ok=True)
    spoilt.write_text(content, "utf-8", "surrogateescape")
    for command in (("show", RUN), ("report-page", "--output", tmp_path / "page")):
        assert f"error: {spoilt}: " in said(*command)


@pytest.mark.parametrize("content", ["[]", "{}", '{"sha256": 1}'])
def test_what_is_no_record_is_refused_by_its_file(results: Path, said: Callable[..., str], content: str) -> None:
    weights = Place.WEIGHTS.under(results, experiment="checkerboard", name="metric")
    record = weights.with_name(f"{weights.name}.provenance.json")
    record.write_text(content)
    assert f"error: {record}: says nothing of the sha256" in said("show", RUN)


@pytest.fixture
def port(world: World, results: Path, tmp_path: Path) -> Iterator[int]:
    """The port of a server of the results."""
    config = load_config(world.folder / "tiny.yaml", [{"results": str(results.parent)}])
    with new_server(Page(config, results, tmp_path / "page"), 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield int(server.server_address[1])
        server.shutdown()
        thread.join()


def answer(port: int, path: str, host: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host)
    connection.endheaders()
    found = connection.getresponse()
    return found.status, found.read()


def test_the_server_names_a_result_that_cannot_be_read_and_goes_on(port: int, results: Path) -> None:
    planned = Place.PLANNED.under(results)
    planned.parent.mkdir(parents=True, exist_ok=True)
    for content in ("[]", '{"jobs": [{}], "started": 0, "host": "", "process": 0}', "{"):
        planned.write_text(content)
        status, said = answer(port, "/live.json", f"{HOST}:{port}")
        assert (status, str(planned).encode() in said) == (500, True)
    planned.unlink()
    assert json.loads(answer(port, "/live.json", f"{HOST}:{port}")[1])["planned"] == 0


def test_the_server_answers_what_is_no_address(port: int) -> None:
    assert answer(port, "http://[/", f"{HOST}:{port}")[0] == 404
    assert answer(port, "/live.json", "localhost")[0] == 200, "browsers leave out port 80"
    assert answer(port, "/live.json", f"{HOST}.evil.example:{port}")[0] == 403


def test_a_port_that_is_taken_is_named(said: Callable[..., str]) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"--port {port}: Address already in use; name another" in said("serve", "--port", port)
