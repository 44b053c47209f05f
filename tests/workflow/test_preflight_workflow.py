"""The workflow looks for all that its planned jobs need before the first of them; two runs at once are told apart."""

import os
import signal
import subprocess
import sys
import time

import pytest
import yaml
from project import Project
from tiny import TINY_MATERIALS

CLAIM = 'claim(Path("results/tiny"), Path("results/tiny/logs/run.lock"))'


def test_problems_stop_the_workflow_before_any_job_and_a_run_without_them_is_not_stopped(project: Project) -> None:
    missing = {"experiments": {"materials": TINY_MATERIALS}}
    (project.folder / "config/salts.yaml").write_text(yaml.safe_dump({"scale": "salts"} | missing))
    result = project.snakemake("--cores", "1", scale="salts")
    assert result.returncode != 0
    assert "scale salts: 2 problems; nothing was started\n  1. experiments.materials." in result.stdout
    assert ". experiments.materials.data: salts.extxyz: no such file" in result.stdout
    assert ". experiments.materials.crystals.hull: entries.json: no such file" in result.stdout
    assert "localrule" not in result.stdout
    assert not (project.folder / "results").exists()
    tokens = "results/tiny/tokens/checkerboard.safetensors"
    again = project.snakemake("--cores", "1", tokens)  # the lock is free
    assert again.returncode == 0, again.stdout


@pytest.fixture
def running(project: Project) -> "subprocess.Popen[str]":
    """A run that is in the midst of its work."""
    values = "experiments={checkerboard: {training: {steps: 1000000}}}"
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", "scale=tiny", values]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=project.folder, text=True, start_new_session=True, **silent)
    while not (project.folder / "results/tiny/logs/train").exists():
        assert process.poll() is None
        time.sleep(0.05)
    return process


def test_a_second_run_and_a_lock_that_was_left_behind_say_what_to_do(
    project: Project, running: "subprocess.Popen[str]"
) -> None:
    try:
        refused = [project.snakemake("--cores", "1", *more) for more in ((), ("--rerun-incomplete",), ("--unlock",))]
        looked = project.snakemake("--dry-run", "--rerun-incomplete")
    finally:
        os.killpg(running.pid, signal.SIGKILL)  # with its jobs; its lock is left
        running.wait()
    for result in refused:
        assert result.returncode != 0
        assert "results/tiny: another run is at work there; wait until it has ended" in result.stdout
    assert looked.returncode == 0, looked.stdout
    left_behind = project.snakemake("--cores", "1", "--rerun-incomplete")
    assert left_behind.returncode != 0
    assert "Directory cannot be locked" in left_behind.stdout
    assert "--unlock" in left_behind.stdout
    assert project.snakemake("--unlock").returncode == 0
    tokens = "results/tiny/tokens/checkerboard.safetensors"
    assert project.snakemake("--cores", "1", "--rerun-incomplete", tokens).returncode == 0


def test_a_second_run_that_makes_other_files_is_refused_too(project: Project) -> None:
    """Snakemake would let it through, and the jobs of the first would read its configuration."""
    hold = f"from pathlib import Path; from pipeline.store.locks import claim; {CLAIM}; print(flush=True); input()"
    command = [sys.executable, "-c", hold]
    with subprocess.Popen(command, cwd=project.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        first.stdout.readline()
        result = project.snakemake("--cores", "1", "data/cache/digits/digits.csv.gz")
        first.kill()
    assert result.returncode != 0
    assert "results/tiny: another run is at work there" in result.stdout
    assert "--config results=<directory>" in result.stdout
    assert project.snakemake("--cores", "1", "data/cache/digits/digits.csv.gz").returncode == 0
