"""The tree of what an artefact was made from."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.errors import KinoflowError
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.inspect.trace import CHANGED, FETCHED, MISSING, UNRECORDED, as_json, as_text, trace_artefact
from pipeline.store.provenance import sidecar_of, write_provenance


def made(path: Path, *inputs: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.name)
    write_provenance([path], {}, 3, inputs)
    return path


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A table of two scores, which share tokens from one file of the catalogue and one of the user."""
    monkeypatch.setattr("pipeline.store.provenance._taken_up", [])  # by other tests of this process
    known = replace(CATALOGUE["mp20/train.csv"], git_object="c746e94d1cbd4a97dbab2a74c9f825e84147304c")
    monkeypatch.setitem(CATALOGUE, known.key, known)
    results = tmp_path / "results/tiny"
    data, own = tmp_path / "data/cache/mp20/train.csv", tmp_path / "own.txt"
    for path in (data, own):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    tokens = made(results / "tokens/text.safetensors", data, own)
    scores = [made(results / f"scores/text/{run}.json", tokens) for run in ("ar", "metric")]
    table = made(results / "tables/text.csv", *scores)
    return {"data": data, "own": own, "tokens": tokens, "scores": scores[0], "table": table, "results": results}


def lines_about(path: Path, text: str) -> list[str]:
    return [line for line in text.splitlines() if f"{path}  " in line]


def test_the_tree_goes_down_to_the_data_and_shows_what_is_shared_once(chain: dict[str, Path]) -> None:
    text = as_text(trace_artefact(chain["table"]))
    first, second = lines_about(chain["tokens"], text)
    assert "seed 3" in first
    assert " s  " in first
    assert second.endswith("(above)")
    assert lines_about(chain["data"], text)[0].startswith("│     ├─ ")
    assert "fetched: MP-20 of CDVAE" in lines_about(chain["data"], text)[0]
    assert "no provenance" in lines_about(chain["own"], text)[0]
    assert text.endswith("\n6 files: 0 changed since, 0 missing, 1 without provenance\n")


def test_a_file_that_has_changed_since_is_marked(chain: dict[str, Path]) -> None:
    chain["tokens"].write_text("others")
    traced = trace_artefact(chain["table"])
    assert traced.files[chain["tokens"]].state == CHANGED
    text = as_text(traced)
    assert all("CHANGED since it was made" in line for line in lines_about(chain["tokens"], text))
    assert "1 changed since" in text


def test_a_file_that_was_made_again_is_marked_where_the_old_one_was_used(chain: dict[str, Path]) -> None:
    chain["scores"].write_text("others")
    write_provenance([chain["scores"]], {}, 3, [chain["tokens"]])
    text = as_text(trace_artefact(chain["table"]))
    assert "CHANGED since, it was" in lines_about(chain["scores"], text)[0]


def test_a_file_that_is_not_what_the_catalogue_says_was_not_fetched(chain: dict[str, Path]) -> None:
    chain["data"].write_text("others")
    assert trace_artefact(chain["table"]).files[chain["data"]].state == UNRECORDED


def test_files_and_records_that_are_missing_are_reported_not_fatal(chain: dict[str, Path]) -> None:
    chain["own"].unlink()
    sidecar_of(chain["scores"]).unlink()
    traced = trace_artefact(chain["table"])
    states = [traced.files[chain[name]].state for name in ("own", "scores", "data")]
    assert states == [MISSING, UNRECORDED, FETCHED]
    assert "1 missing, 1 without provenance" in as_text(traced)


def test_a_file_with_the_name_of_a_published_one_and_other_content_is_not_taken_for_it(tmp_path: Path) -> None:
    false = tmp_path / "cache/digits/digits.csv.gz"
    false.parent.mkdir(parents=True)
    false.write_text("no digits")
    traced = trace_artefact(made(tmp_path / "tokens", false))
    assert traced.files[false].state == UNRECORDED


@pytest.mark.parametrize("name, hint", [("own", "there is no record of it"), ("nowhere", "no such file")])
def test_a_path_without_a_record_is_an_error(chain: dict[str, Path], name: str, hint: str) -> None:
    with pytest.raises(KinoflowError, match=hint):
        trace_artefact(chain.get(name, Path("nowhere")))


def benchmark(chain: dict[str, Path], after: float) -> dict[str, Any]:
    """Return what is said of the scores if a benchmark was written so many seconds after their process."""
    sidecar = sidecar_of(chain["scores"])
    record = json.loads(sidecar.read_text()) | {
        "command": ["python", "-m", "pipeline", "score", "--experiment", "text"],
        "started": "2026-01-01T00:00:00+00:00",
        "wall_seconds": 10.0,
        "peak_memory_mb": 50.0,
    }
    sidecar.write_text(json.dumps(record))
    measured = chain["results"] / "benchmarks/score/text/ar.tsv"
    measured.parent.mkdir(parents=True)
    measured.write_text("s\th:m:s\tmax_rss\n12.5\t0:00:12\t700.25\n")
    ended = 1767225600 + 10.0 + after
    os.utime(measured, (ended, ended))
    entries = as_json(trace_artefact(chain["table"]))["files"]
    return next(entry for entry in entries if entry["path"] == str(chain["scores"]))


def test_seconds_and_memory_are_those_of_the_benchmark(chain: dict[str, Path]) -> None:
    entry = benchmark(chain, after=2)
    assert (entry["wall_seconds"], entry["peak_memory_mb"], entry["measured_by"]) == (12.5, 700.25, "benchmark")


def test_a_benchmark_of_an_earlier_job_is_not_taken(chain: dict[str, Path]) -> None:
    entry = benchmark(chain, after=-20)
    assert (entry["wall_seconds"], entry["peak_memory_mb"], entry["measured_by"]) == (10.0, 50.0, "process")


def test_the_command_prints_the_tree_and_writes_json(
    chain: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", str(chain["table"]), "--json", str(tmp_path / "trace.json")]) == 0
    assert capsys.readouterr().out.startswith(f"{chain['table']}  ")
    written = json.loads((tmp_path / "trace.json").read_text())
    assert written["artefact"] == str(chain["table"])
    assert len(written["files"]) == 6
    assert main(["trace", str(chain["own"])]) == 2
