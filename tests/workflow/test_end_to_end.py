"""The whole workflow, from nothing to the table, and what runs again after a change."""

import csv
import json
import os
import re
import sys
from pathlib import Path

import pytest
from project import ROOT, SECRETS, Project

AFTER_SAMPLING = {"gather": 1, "score": 1, "table": 1, "figure": 1, "report_page": 1, "all": 1}


@pytest.fixture(scope="module")
def finished(project: Project) -> Project:
    """The project after a run of the whole workflow."""
    result = project.snakemake("--cores", "2", "--show-failed-logs")
    assert result.returncode == 0, result.stdout
    return project


def without_total(jobs: dict[str, int]) -> dict[str, int]:
    return {rule: count for rule, count in jobs.items() if rule != "total"}


def test_it_ends_in_a_table_of_runs_and_references_and_a_figure(finished: Project) -> None:
    results = finished.folder / "results/tiny"
    with (results / "tables/checkerboard.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["run"] for row in rows] == ["mask_linear", "metric", "held-out data", "independent columns"]
    assert all(float(row["total_variation"]) > 0 for row in rows)
    assert [row["n"] for row in rows] == ["110"] * 4
    assert [row["NFE"] for row in rows] == ["4", "4", "", ""]
    assert float(rows[0]["bound_nats"]) > 0
    assert (results / "tables/checkerboard.md").read_text().count("\n|") == 5
    assert (results / "figures/checkerboard.png").read_bytes().startswith(b"\x89PNG")


def test_it_ends_in_a_page_that_has_all_rows_and_in_the_list_of_its_jobs(finished: Project) -> None:
    results = finished.folder / "results/tiny"
    assert 'src="data/checkerboard.js"' in (results / "report/index.html").read_text()
    assert '"missing":[]' in (results / "report/data/checkerboard.js").read_text()
    planned = json.loads((results / "logs/planned.json").read_text())
    assert {job["rule"] for job in planned["jobs"]} >= {"prepare", "train", "sample", "score", "table", "report_page"}
    assert all(Path(finished.folder / job["log"]).is_file() for job in planned["jobs"])


def test_every_artefact_has_its_provenance_and_no_shard_is_left(finished: Project) -> None:
    results = finished.folder / "results/tiny"
    folders = ("tokens", "models", "samples", "scores", "headlines", "tables", "figures")
    files = [file for folder in folders for file in (results / folder).rglob("*") if file.is_file()]
    artefacts = [file for file in files if not file.name.endswith(".provenance.json")]
    assert len(artefacts) == 1 + 2 * 3 + 4 + 4 + 4 + 3 + 1
    for artefact in artefacts:
        record = json.loads(artefact.with_name(f"{artefact.name}.provenance.json").read_text())
        assert {"sha256", "settings_sha256", "seed", "inputs", "code", "packages"} <= record.keys()
    assert not [file for file in (results / "shards").rglob("*") if file.is_file()]


def test_a_table_is_traced_to_its_tokens_and_a_changed_file_is_marked(finished: Project) -> None:
    files = finished.traced("results/tiny/tables/checkerboard.csv")
    assert files.keys() == {"unchanged"}
    stages = [path.split("/")[2] for path in files["unchanged"]]
    assert stages[:5] == ["tables", *["scores"] * 4]
    assert {"samples", "models", "tokens"} == set(stages[5:])
    weights = finished.folder / "results/tiny/models/checkerboard/metric.safetensors"
    before, times = weights.read_bytes(), weights.stat()
    weights.write_bytes(before + b"more")
    result = finished.run(sys.executable, "-m", "pipeline", "trace", "results/tiny/figures/checkerboard.png")
    weights.write_bytes(before)
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert len(re.findall(r"models/checkerboard/metric.safetensors .* CHANGED since it was made", result.stdout)) == 1


def test_seconds_and_memory_of_shards_are_those_that_snakemake_measured(finished: Project) -> None:
    finished.traced("results/tiny/samples/checkerboard/metric.safetensors")
    record = json.loads((finished.folder / "trace.json").read_text())["files"][0]
    folder = finished.folder / "results/tiny/benchmarks/sample/checkerboard/metric"
    measured = [float(file.read_text().splitlines()[1].split("\t")[0]) for file in sorted(folder.glob("*.tsv"))]
    assert len(measured) == 2
    assert record["measured_by"] == "benchmark"
    assert record["wall_seconds"] == pytest.approx(sum(measured))


def test_no_record_and_no_log_holds_a_secret_of_the_environment(finished: Project) -> None:
    files = [file for file in finished.folder.rglob("*") if file.is_file() and not file.is_symlink()]
    assert any(file.name.endswith(".provenance.json") for file in files)
    assert any(file.suffix == ".log" for file in files)
    for file in files:
        content = file.read_bytes()
        assert not [name for name, secret in SECRETS.items() if secret.encode() in content], file


def test_a_job_that_opened_a_socket_would_be_found(finished: Project) -> None:
    """Every run of the workflow in these tests asserts that none did."""
    connect = "import socket; socket.create_connection(('203.0.113.1', 80), timeout=1)"
    assert finished.offline(sys.executable, "-c", connect).returncode != 0
    assert "203.0.113.1" in finished.sockets.read_text()
    finished.sockets.unlink()


def test_every_job_of_python_was_kept_from_opening_one(finished: Project) -> None:
    guarded = finished.sockets.with_name(f"{finished.sockets.name}.guarded").read_text().splitlines()
    assert {f"-m pipeline {stage}" for stage in ("prepare", "train", "sample", "score", "table")} <= set(guarded)


def test_a_second_run_has_nothing_to_do(finished: Project) -> None:
    assert finished.planned() == {}


def test_a_learning_rate_of_one_run_trains_that_run_only(finished: Project) -> None:
    jobs = finished.planned(values="{runs: {metric: {training: {learning_rate: 0.5}}}}")
    assert without_total(jobs) == AFTER_SAMPLING | {"train": 1, "sample": 2}


def test_a_further_seed_trains_only_that_seed(finished: Project) -> None:
    jobs = finished.planned(values="{seeds: [1]}")
    assert without_total(jobs) == AFTER_SAMPLING | {"train": 2, "sample": 4, "gather": 2, "score": 2, "seeds": 1}


def test_a_further_run_schedules_only_its_own_jobs(finished: Project) -> None:
    jobs = finished.planned(values="{runs: {uniform: {path: {name: uniform, scheduler: linear}, loss: mixture_elbo}}}")
    assert without_total(jobs) == AFTER_SAMPLING | {"train": 1, "sample": 2}


def test_files_that_are_touched_but_not_changed_run_nothing_again(finished: Project) -> None:
    """Whatever their size, but for very large ones: Snakemake's own limit is 1 MB."""
    assert "max-checksum-file-size: 100000000" in (finished.folder / "profiles/default/config.yaml").read_text()
    assert "workflow specific profile profiles/default" in finished.snakemake("--dry-run").stdout
    for folder in ("results", "pipeline", "config", "workflow"):
        for file in (finished.folder / folder).rglob("*"):
            if file.is_file():
                file.touch()
    assert finished.planned() == {}


def test_a_temperature_draws_samples_and_trains_nothing(finished: Project) -> None:
    jobs = finished.planned(values="{runs: {metric: {sampling: {temperature: 0.5}}}}")
    assert without_total(jobs) == AFTER_SAMPLING | {"sample": 2}


def test_an_option_of_a_metric_only_scores(finished: Project) -> None:
    jobs = finished.planned(values="{scoring: {likelihood_bound: {points: 6}}}")
    assert without_total(jobs) == {"score": 4, "table": 1, "report_page": 1, "all": 1}


def test_demands_on_the_machine_run_nothing_again(finished: Project) -> None:
    assert finished.planned(values="{training: {resources: {minutes: 5, memory_mb: 9}}}") == {}


def test_an_edit_of_the_sampler_draws_samples_and_trains_nothing(finished: Project) -> None:
    with finished.edited("pipeline/flow/sampler.py"):
        assert without_total(finished.planned()) == AFTER_SAMPLING | {"gather": 2, "score": 2, "sample": 4}


def test_comments_and_docstrings_run_nothing_again(finished: Project) -> None:
    losses = finished.folder / "pipeline/flow/losses.py"
    before = losses.read_text()
    losses.write_text(f"# A remark.\n{before}\n# Another.\n")
    planned = finished.planned()
    losses.write_text(before)
    assert planned == {}


def test_the_console_says_that_code_changed(finished: Project) -> None:
    with finished.edited("pipeline/report/tables.py"):
        said = finished.snakemake("--dry-run").stdout
    assert re.search(r"reason: .*Params have changed", said)
    assert re.search(r"code of table: [0-9a-f]{16}", said)


def test_an_edit_of_the_steps_draws_samples_and_trains_nothing(finished: Project) -> None:
    with finished.edited("pipeline/flow/steps.py"):
        jobs = finished.planned()
    assert (jobs["sample"], jobs["gather"], jobs["score"], jobs["table"]) == (4, 2, 2, 1)
    assert not {"train", "prepare"} & jobs.keys()


@pytest.mark.parametrize("kind", ["paths", "velocities"])
def test_a_new_path_or_velocity_runs_nothing_again(finished: Project, kind: str) -> None:
    """A run that names it is new itself."""
    added = finished.folder / f"pipeline/flow/{kind}/added.py"
    registry = kind.upper()
    added.write_text(f"from pipeline.flow.{kind} import {registry}\n\n{registry}.register('added')(print)\n")
    planned = finished.planned()
    added.unlink()
    assert planned == {}


def test_an_edit_of_a_path_trains_its_runs_only(finished: Project) -> None:
    with finished.edited("pipeline/flow/paths/metric.py"):
        jobs = finished.planned()
    assert (jobs["train"], jobs["sample"]) == (1, 2)


def test_an_edit_of_a_network_trains_and_samples(finished: Project) -> None:
    with finished.edited("pipeline/known/networks/mlp.py"):
        jobs = finished.planned()
    assert (jobs["train"], jobs["sample"]) == (2, 4)
    assert "prepare" not in jobs


def test_files_from_elsewhere_are_fetched_by_a_rule(finished: Project) -> None:
    result = finished.snakemake("--cores", "1", "data/cache/digits/digits.csv.gz")  # ships with scikit-learn
    assert result.returncode == 0, result.stdout
    assert (finished.folder / "data/cache/digits/digits.csv.gz").stat().st_size == 57523


def test_a_run_that_is_killed_at_random_makes_the_same(finished: Project, tmp_path: Path) -> None:
    """By the command that the README names for the demo."""
    folders = (str(finished.folder), str(tmp_path / "disturbed"))
    kills = ("--scale", "tiny", "--kills", "2", "--seconds", "3")
    result = finished.run(sys.executable, str(ROOT / "tests/kills.py"), *folders, *kills)
    assert result.returncode == 0, result.stdout
    assert "finished after 2 kills" in result.stdout
    same = re.search(r"(\d+) of (\d+) files are the same to the last byte", result.stdout)
    assert same is not None
    assert int(same[1]) == int(same[2]) == 1 + 2 * 3 + 4 + 4 + 4 + 3 + 1
