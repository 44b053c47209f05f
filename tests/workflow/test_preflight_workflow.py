"""The workflow looks for all that its planned jobs need before the first of them; two runs at once are told apart."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
import yaml
from project import ROOT, Project
from tiny import TINY_MATERIALS

from pipeline.config.loading import load_config
from pipeline.inspect.planned import needs_of

CLAIM = 'claim(Path("results/tiny"), Path("results/tiny/logs/run.lock"))'


def test_problems_stop_the_workflow_before_any_job_and_a_run_without_them_is_not_stopped(project: Project) -> None:
    missing = {"experiments": {"materials": TINY_MATERIALS}}
    (project.folder / "config/salts.yaml").write_text(yaml.safe_dump({"scale": "salts"} | missing))
    result = project.snakemake("--cores", "1", scale="salts")
    assert result.returncode != 0
    assert "scale salts: 2 problems; nothing was started\n  1. experiments.materials.data: salts.ext" in result.stdout
    assert "2. experiments.materials.crystals.hull: entries.json: no such file" in result.stdout
    assert "localrule" not in result.stdout
    assert not (project.folder / "results").exists()
    tokens = "results/tiny/tokens/checkerboard.safetensors"
    again = project.snakemake("--cores", "1", tokens)  # the lock is free
    assert again.returncode == 0, again.stdout


def test_every_rule_of_the_workflow_that_needs_something_is_looked_after() -> None:
    text = (ROOT / "workflow/rules/preflight.smk").read_text()
    parts = dict(re.findall(r'^    "(\w+)": "(\w+)",$', text, re.MULTILINE))
    rules = {}
    for file in (ROOT / "workflow/rules").glob("*.smk"):
        for name, body in re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", file.read_text(), re.MULTILINE | re.DOTALL):
            rules[name] = body
    asking = {name for name, body in rules.items() if "gpu=" in body or re.search(r"files=|=judge_files", body)}
    assert asking == parts.keys()
    demo = load_config(ROOT / "config/demo.yaml")
    assert {need.part[1] for need in needs_of(demo)} == set(parts.values())


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
        second = project.snakemake("--cores", "1", "--rerun-incomplete")
    finally:
        os.killpg(running.pid, signal.SIGKILL)  # with its jobs; its lock is left
        running.wait()
    left_behind = project.snakemake("--cores", "1", "--rerun-incomplete")
    for result in (second, left_behind):
        assert result.returncode != 0
        assert "Directory cannot be locked" in result.stdout
        assert "make sure that no other Snakemake process" in result.stdout
        assert "--unlock" in result.stdout
    assert project.snakemake("--unlock").returncode == 0
    tokens = "results/tiny/tokens/checkerboard.safetensors"
    assert project.snakemake("--cores", "1", "--rerun-incomplete", tokens).returncode == 0


def test_a_second_run_that_makes_other_files_is_refused_too(project: Project) -> None:
    """Snakemake would let it through, and the jobs of the first would read its configuration."""
    hold = f"from pathlib import Path; from pipeline.store.one_run import claim; {CLAIM}; print(flush=True); input()"
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
