"""The command that prints the scale sheet."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import TINY_LATENTS, TINY_PIXELS, TINY_TEXT

from pipeline.cli import main

IMAGES = {"experiments": {"pixels": TINY_PIXELS, "latents": TINY_LATENTS, "text": TINY_TEXT}}


def test_it_prints_all_parts_in_lines_for_a_terminal(
    tiny_file: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["plan", "--config", str(tiny_file(IMAGES)), "--json", str(tmp_path / "plan.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    for title in ("Jobs of the workflow", "Networks", "GPU-hours, at 0.35 of the peak", "Disk", "Assumptions"):
        assert title in lines
    record = json.loads((tmp_path / "plan.json").read_text())
    assert record["jobs"]["total"] == sum(count for rule, count in record["jobs"].items() if rule != "total")
    assert {work["rule"] for work in record["experiments"]["latents"]["work"]} >= {
        "train_tokenizer",
        "encode",
        "sample",
    }


def test_it_measures_every_network_here(
    tiny_file: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["--config", str(tiny_file(IMAGES)), "--measure", "--json", str(tmp_path / "plan.json")]
    assert main(["plan", *arguments]) == 0
    assert "Measured on this machine" in capsys.readouterr().out
    record = json.loads((tmp_path / "plan.json").read_text())
    measured = {(entry["experiment"], entry["network"]) for entry in record["measured"]}
    works = [work for sheet in record["experiments"].values() for work in sheet["work"]]
    assert measured == {(work["experiment"], work["network"]) for work in works}
    assert all(entry["flops_per_second"] > 0 for entry in record["measured"])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--gpu", "A10"], "--gpu A10: unknown kind of GPU; did you mean 'A100'?"),
        (["--utilisation", "0"], "--utilisation 0: must lie above 0"),
        (["--utilisation", "1.1"], "--utilisation 1.1: must lie above 0 and be at most 1"),
        (["--set", "experiments.checkerboard.training.stepz=3"], "training.stepz = 3: unknown key"),
    ],
)
def test_bad_input_is_explained(
    arguments: list[str], message: str, tiny_file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--config", str(tiny_file()), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_other_commands_load_nothing_of_it() -> None:
    code = "import sys, pipeline.cli; print([name for name in sys.modules if name.startswith('pipeline.inspect')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
