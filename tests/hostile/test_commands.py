"""Command lines that ask for nothing, for too much or for the wrong place are refused before any work."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml
from world import RUNS, World

from pipeline.cli import main
from pipeline.crystals.templates import cells_of
from pipeline.errors import KinoflowError
from pipeline.networks.saved import load_network, save_network
from pipeline.tokens.token_data import TokenData


@pytest.fixture
def said(world: World, only_message: Callable[[int], str]) -> Callable[..., str]:
    """Return a function that runs a command in the world, which must fail, and returns its only message."""
    return lambda *arguments: only_message(world.run(*arguments))


@pytest.mark.parametrize(
    "command, flag, value, least",
    [
        ("generate-text", "--steps", 0, 1),
        ("generate-text", "--count", 0, 1),
        ("generate-text", "--seed", -1, 0),
        ("generate-images", "--steps", 0, 1),
        ("generate-images", "--count", -1, 1),
        ("generate-images", "--seed", -1, 0),
        ("generate-crystals", "--count", 0, 1),
        ("generate-crystals", "--seed", -1, 0),
        ("generate-crystals", "--units", 0, 1),
        ("reference-energies", "--steps", 0, 1),
        ("reference-energies", "--workers", 0, 1),
    ],
)
def test_numbers_that_ask_for_nothing_are_refused_by_their_flag(
    said: Callable[..., str], tmp_path: Path, command: str, flag: str, value: int, least: int
) -> None:
    further = ("--run", "any", "--output", tmp_path) if command.startswith("generate") else ()
    assert f'Invalid value "{value}" for {flag}. Must be >= {least}.' in said(command, flag, value, *further)


def test_steps_of_an_autoregressive_run_are_refused(said: Callable[..., str], tmp_path: Path) -> None:
    shown = said("generate-text", "--run", "ar", "--steps", 3, "--output", tmp_path)
    assert "--steps: run 'ar' is autoregressive" in shown


def test_more_than_fits_into_memory_is_refused_with_the_figure(
    said: Callable[..., str], world: World, tmp_path: Path
) -> None:
    order = ("generate-text", "--run", "mask_ko", "--output", tmp_path)
    assert "--count 100000000000: needs 5.12e+04 GB of memory or more" in said(*order, "--count", 10**11)
    files = {name: tmp_path / name for name in ("checkpoints", "weights", "metrics", "history")}
    flags = [part for name, file in files.items() for part in (f"--{name}", file)]
    train = ("train", "--experiment", "checkerboard", "--run", "metric", "--tokens", world.tokens("checkerboard"))
    for setting, figure in (("training.batch=1000000000", "624 GB"), ("model.width=100000000", "4e+08 GB")):
        shown = said(*train, *flags, "--set", f"experiments.checkerboard.{setting}")
        assert f"training needs {figure} of memory or more, this machine has" in shown
        assert setting.partition(".")[2].partition("=")[2] in shown
    assert not list(tmp_path.iterdir())


def test_more_steps_than_a_configuration_may_ask_for_are_refused(said: Callable[..., str], tmp_path: Path) -> None:
    order = ("generate-text", "--run", "mask_ko", "--output", tmp_path / "made")
    assert "sampling.steps = 1000000000000: must be at most 1000000" in said(*order, "--steps", 10**12)


@pytest.mark.parametrize("formula", ["Na999999999999999999999", "Na1e400"])
def test_a_formula_of_more_atoms_than_there_can_be_is_refused(formula: str) -> None:
    with pytest.raises(KinoflowError, match=f"formula '{formula}'"):
        cells_of(formula)


def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    said: Callable[..., str], world: World, tmp_path: Path
) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.touch()
    folder.mkdir()
    missing = ("--run", "none")  # the place is looked at first
    assert f"--output {file}: is a file; name a folder" in said("generate-text", *missing, "--output", file)
    below = file / "below"
    assert f"--output {below}: {file} is no folder" in said("generate-text", *missing, "--output", below)
    samples = world.tokens("materials")
    score = ("score", "--experiment", "none", "--samples", samples, "--tokens", world.tokens("text"))
    assert f"--output {folder}: is a folder; name a file" in said(*score, "--output", folder)
    assert "the same file as --samples; name another one" in said(*score, "--output", samples)


def test_keys_that_do_not_count_for_a_trained_network_are_named(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order = ("generate-crystals", "--run", "metric", "--atoms", 2, "--count", 1, "--output", tmp_path)
    assert world.run(*order, "--set", "experiments.materials.model.width=192") == 0
    assert "note: runs.metric.model.width = 192 is ignored: 16 counts, with which" in capsys.readouterr().err
    assert world.run(*order) == 0
    assert "ignored" not in capsys.readouterr().err


def test_weights_that_are_not_finite_are_refused_by_their_file(
    said: Callable[..., str], world: World, tmp_path: Path
) -> None:
    tokens = world.tokens("checkerboard")
    saved = load_network(world.at("models", "checkerboard/metric.safetensors"), TokenData.load(tokens), "metric")
    with torch.no_grad():
        next(saved.network.parameters()).fill_(torch.nan)
    weights = tmp_path / "weights"
    save_network(weights, saved.network, saved.description)
    given = ("--experiment", "checkerboard", "--run", "metric", "--tokens", tokens, "--weights", weights)
    shown = said("sample", *given, "--output", tmp_path / "samples")
    assert f"{weights}: " in shown
    assert "has numbers that are not finite; train the run again" in shown


def test_ctrl_c_is_one_line_that_says_how_to_go_on(world: World, tmp_path: Path) -> None:
    tokens, weights = world.tokens("checkerboard"), world.at("models", "checkerboard/metric.safetensors")
    settings = ["experiments.checkerboard.sampling.count=1000000", "experiments.checkerboard.sampling.shards=1"]
    command = [sys.executable, "-m", "pipeline", "sample", *world.config, "--experiment", "checkerboard"]
    command += ["--run", RUNS["checkerboard"], "--tokens", str(tokens), "--weights", str(weights)]
    command += ["--journal", str(tmp_path / "journal"), "--output", str(tmp_path / "samples"), "--set", *settings]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not list((tmp_path / "journal").glob("kept-*")):
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said.splitlines()[-1] == "interrupted. To go on, run the same again; it goes on from what is finished"
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "settings, message",
    [
        (["data.length=1000000"], "1000000 tokens of 5 values make 10^698970 sequences, too many to list"),
        (["data.states=1024", "data.length=1000", "oracle.law=samples"], "an oracle of it needs 34.4 GB"),
        (["oracle.law=samples", "oracle.count=1000000000"], "an oracle of it needs 192 GB of memory or more"),
    ],
    ids=["length", "states", "count"],
)
def test_an_oracle_that_cannot_be_measured_is_refused_by_its_key(
    tmp_path: Path,
    only_message: Callable[[int], str],
    monkeypatch: pytest.MonkeyPatch,
    settings: list[str],
    message: str,
) -> None:
    monkeypatch.setattr("pipeline.store.memory.machine_memory", lambda: 10**9)
    oracle = {"distributions": 2, "paths": {"mask": {"name": "mask"}}, "rows": [{"steps": [2]}]}
    data = {"name": "markov", "states": 4, "length": 3}
    file = tmp_path / "oracle.yaml"
    file.write_text(yaml.safe_dump({"scale": "tiny", "experiments": {"small": {"data": data, "oracle": oracle}}}))
    files = [f"--{name}={tmp_path / name}" for name in ("journal", "output", "csv", "markdown", "numbers")]
    given = ["--set", *(f"experiments.small.{setting}" for setting in settings)]
    shown = only_message(main(["oracle", "--config", str(file), "--experiment", "small", *files, *given]))
    assert f"experiments.small.data: {message}" in shown
