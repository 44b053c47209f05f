"""Twelve wrong uses: each ends in one message that names what is wrong and what to do."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from pipeline.cli import main
from pipeline.config.loading import load_config, write_config

ROOT = Path(__file__).parents[1]
GENERATE = ("generate-crystals", "--run", "mask_ko", "--output", "made")
Said = Callable[..., str]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Return a function that calls a command in a folder with the configurations, and returns its one message."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        assert main(arguments) == 2
        shown = capsys.readouterr().err
        assert shown.count("error: ") == 1
        assert "Traceback" not in shown
        return shown

    return call


def test_a_mistyped_run(said: Said) -> None:
    assert "--run 'mask_k0': not in config/demo.yaml; did you mean 'mask_ko'?" in said(
        "generate-crystals", "--run", "mask_k0", "--formula", "NaCl", "--output", "made"
    )


def test_missing_weights(said: Said) -> None:
    message = said(*GENERATE, "--formula", "NaCl")
    assert "results/demo/tokens/materials.safetensors: no such file; train the run with `snakemake --cores" in message


def test_a_formula_with_an_unknown_element(said: Said) -> None:
    assert "formula 'NaXx': Xx" in (message := said(*GENERATE, "--formula", "NaXx"))
    assert "is no element from Z = 1 to" in message


def test_a_configuration_of_another_version(said: Said) -> None:
    write_config(Path("old.yaml"), load_config(Path("config/demo.yaml"), choices=False))
    text = Path("old.yaml").read_text().replace("\nseed: 0\n", "\nseed: 0\nprecision: 32\n", 1)
    Path("old.yaml").write_text(text)
    message = said("check", "--config", "old.yaml")
    assert "was resolved by another version, or edited; use config/<scale>.yaml, or run the workflow again" in message
    assert "precision" in message


def test_the_wrong_directory(said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    message = said("plan")
    assert "config/demo.yaml: 1 problem\n  no such file" in message
    assert "work in the root of the repository or project" in message


def test_no_disk(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000_000))
    message = said("preflight", "--experiment", "checkerboard")
    assert "1 MB free, at least" in message
    assert "make room, or name another directory" in message


def test_a_disk_that_fills_up(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "big.bin")

    monkeypatch.setattr("yaml.safe_dump", full)
    assert "big.bin: No space left on device. Nothing half-written was left: free space" in said("check")


def test_no_judge(said: Said) -> None:
    message = said("judge", "--config", "config/small.yaml", "--experiment", "text", "--output", "judge.json")
    assert "SmolLM2-135M-Instruct.Q4_1.gguf: no such file; run `python -m pipeline fetch smollm2" in message


def test_a_broken_cif(said: Said) -> None:
    Path("broken.cif").write_text("data_broken\n_cell_length_a   four\n")
    message = said("evaluate-crystals", "broken.cif", "--output", "made")
    assert "broken.cif: none of its 1 structures can be used; broken: " in message
    assert "correct the files, or name others" in message


def test_a_download_while_offline(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    message = said("fetch", "carbon_24/train.csv", "--order", "address")
    assert "could not fetch carbon_24/train.csv" in message
    assert "by hand: put the file" in message


def test_a_missing_gpu(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    setting = "experiments.checkerboard.training.resources.gpus=1"
    message = said("preflight", "--experiment", "checkerboard", "--set", setting)
    assert "shows 0 GPUs, but experiments.checkerboard.runs." in message
    assert "lower them (0 is the CPU), or submit the jobs to a cluster" in message


def test_a_wrong_mirror(said: Said) -> None:
    message = said("fetch", "carbon_24/train.csv", "--mirror", "nowhere", "--order", "mirror")
    assert "the mirror nowhere is not a directory" in message
    assert "set data.mirror or KINOFLOW_MIRROR to a directory that has carbon_24/train.csv" in message


def test_results_of_another_scale(said: Said) -> None:
    small = yaml.safe_load(Path("config/small.yaml").read_text())
    run = next(iter(small["experiments"]["materials"]["runs"]))
    Path("results/demo/tokens").mkdir(parents=True)
    Path("results/demo/tokens/materials.safetensors").touch()
    command = ("generate-crystals", "--config", "config/small.yaml", "--run", run, "--formula", "NaCl", "--output", "x")
    assert "the scale demo has it: --config config/demo.yaml" in said(*command)
