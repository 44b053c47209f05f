"""What provenance says of the process and the machine, and how that of shards is put together."""

import json
import re
from pathlib import Path

import pytest

from pipeline.inspect.trace import as_text, trace_artefact
from pipeline.store import provenance as process
from pipeline.store.journal import Journal
from pipeline.store.provenance import gather_provenance, read_record, sidecar_of, write_provenance


@pytest.fixture
def artefact(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.write_bytes(b"weights")
    return path


def test_provenance_names_the_command_the_machine_and_what_was_used(
    artefact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_command", [])
    process.set_command(["train", "--run", "metric"])
    write_provenance([artefact], {}, 0, [])
    record = json.loads(sidecar_of(artefact).read_text())
    assert record["command"] == ["python", "-m", "pipeline", "train", "--run", "metric"]
    assert record["device"]
    assert record["host"]
    assert record["started"].endswith("+00:00")
    assert record["wall_seconds"] > 0
    assert record["peak_memory_mb"] > 1
    assert artefact.read_bytes() == b"weights"


def test_work_that_was_taken_up_is_marked(artefact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its seconds are those of the last attempt."""
    monkeypatch.setattr(process, "_taken_up", [])
    Journal(tmp_path / "journal", "these").add("first", 1)
    write_provenance([artefact], {}, 0, [])
    assert not read_record(artefact)["resumed"]
    Journal(tmp_path / "journal", "these")
    write_provenance([artefact], {}, 0, [])
    assert read_record(artefact)["resumed"]
    whole = tmp_path / "whole"
    whole.write_text("whole")
    gather_provenance(whole, [artefact])
    assert read_record(whole)["resumed"]
    assert re.search(r" \d+\.\d s \(after a resumption\) ", as_text(trace_artefact(whole)))


def test_shards_add_up_seconds_and_have_the_inputs_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards, used = [tmp_path / "0-of-2", tmp_path / "1-of-2"], iter([(1.5, 100.0), (2.0, 300.0), (9.0, 1.0)])
    whole = tmp_path / "whole"
    for path in (*shards, whole, tmp_path / "tokens", tmp_path / "search"):
        path.write_text(path.name)

    def record() -> dict[str, object]:
        seconds, memory = next(used)
        rest = {"device": "a CPU", "host": "here", "started": "2026-01-01T00:00:00+00:00", "command": [f"{seconds}"]}
        return rest | {"wall_seconds": seconds, "peak_memory_mb": memory}

    monkeypatch.setattr("pipeline.store.provenance.process_record", record)
    write_provenance(shards[:1], {"steps": 4}, 7, [tmp_path / "tokens"])
    write_provenance(shards[1:], {"steps": 4}, 7, [tmp_path / "tokens", tmp_path / "search"])
    gather_provenance(whole, shards)
    gathered = json.loads(sidecar_of(whole).read_text())
    assert (gathered["wall_seconds"], gathered["peak_memory_mb"], gathered["command"]) == (3.5, 300.0, ["9.0"])
    assert [Path(path).name for path in gathered["inputs"]] == ["tokens", "search"]
    assert [shard["artefact"] for shard in gathered["shards"]] == [str(path) for path in shards]
    assert (gathered["artefact"], gathered["seed"], gathered["settings"]) == ("whole", 7, {"steps": 4})
