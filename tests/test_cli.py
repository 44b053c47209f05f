"""The command line: help, and errors without tracebacks."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from pipeline.cli import main

ROOT = Path(__file__).parents[1]
COMMANDS = (
    "prepare",
    "train",
    "sample",
    "gather",
    "reference",
    "score",
    "table",
    "figure",
    "decode",
    "describe",
    "relax",
    "gather-relaxed",
    "hull",
    "calibrate",
    "assess",
    "generate-crystals",
    "evaluate-crystals",
    "dft-inputs",
    "dft-collect",
    "texts",
    "judge",
    "generate-text",
    "prepare-images",
    "prepare-pixels",
    "train-tokenizer",
    "encode",
    "tokenizer-report",
    "train-classifier",
    "image-reference",
    "pictures",
    "search",
    "conditional-path",
    "sweeps",
    "generate-images",
    "evaluate-images",
    "preflight",
    "trace",
    "fetch",
    "check",
    "plan",
    "schema",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert left.value.code == 0
    assert f"python -m pipeline {command}" in shown
    assert len(shown.split("options:")[0].splitlines()) >= 3  # usage, a blank line, a description


def test_the_list_of_commands_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    lines = shown.split("<command>\n")[1].splitlines()
    assert [line.split()[0] for line in lines if line[4:5].strip()] == list(COMMANDS)


def test_help_does_not_import_torch() -> None:
    code = "import sys, pipeline.cli as cli; cli.parser().format_help(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_check_prints_the_configuration_with_settings_and_defaults(
    tiny_file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["check", "--config", str(tiny_file()), "--set", "seed=4", "experiments.checkerboard.training.steps=9"]
    assert main([*arguments, "--set", "results=elsewhere"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert (shown["seed"], shown["results"]) == (4, "elsewhere")
    assert shown["experiments"]["checkerboard"]["runs"]["metric"]["training"]["steps"] == 9
    assert shown["data"]["cache"] == "data/cache"


@pytest.mark.parametrize(
    "arguments, hint",
    [
        (["check", "--set", "sede=1"], "did you mean 'seed'"),
        (["check", "--config", "nowhere/at_all.yaml"], "no such file"),
        (["prepare", "--experiment", "checkerbord", "--output", "x"], "did you mean 'checkerboard'"),
        (["gather", "--shards", "nowhere.safetensors", "--output", "x"], "nowhere.safetensors: no such file"),
        (["fetch", "mnits"], "mnist"),
        (["evaluate-crystals", "nowhere", "--output", "x"], "nowhere"),
        (["evaluate-crystals", "x", "--experiment", "checkerboard", "--output", "x"], "not one on crystals"),
        (["generate-crystals", "--run", "mask_k0", "--formula", "NaCl", "--output", "x"], "did you mean 'mask_ko'"),
        (["generate-crystals", "--run", "mask_ko", "--output", "x"], "give either --formula or --template"),
        (["generate-crystals", "--run", "ar", "--formula", "NaCl", "--weights", "no", "--output", "x"], "no such file"),
    ],
)
def test_an_error_is_one_message_and_status_2(arguments: list[str], hint: str) -> None:
    command = [sys.executable, "-m", "pipeline", *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    assert hint in result.stderr


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m pipeline check | head -n 1; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "scale: demo\n", "")


def test_an_unknown_run_is_refused(
    tiny_file: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tokens").touch()
    files = [f"--{name}={tmp_path / name}" for name in ("tokens", "checkpoints", "weights", "metrics", "history")]
    assert main(["train", "--config", str(tiny_file()), "--experiment", "checkerboard", "--run", "metrik", *files]) == 2
    assert "did you mean 'metric'" in capsys.readouterr().err
