"""The command line: help, and errors without tracebacks."""

import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import docstring_parser
import pytest
import yaml
from cyclopts import Parameter

from pipeline.cli import GROUPS, UPKEEP, command_modules, main
from pipeline.cli import STAGES as STAGES_TITLE
from pipeline.commands.given import FLAGS
from pipeline.stages.job import Job, RunJob
from pipeline.stages.parameters import READ

ROOT = Path(__file__).parents[1]
STAGES = (
    *("assess", "calibrate", "claims", "conditional-path", "decode", "describe", "encode", "figure", "gather"),
    *(
        "gather-relaxed",
        "hull",
        "image-reference",
        "judge",
        "judge-energies",
        "match-predictions",
        "oracle",
        "pictures",
    ),
    *("predict",),
    *("prediction-reference", "prediction-table", "prepare", "prepare-images", "prepare-pixels", "protocols"),
    *("reference", "relax", "sample", "score", "search", "seeds", "sweeps", "table", "texts"),
    *("tokenizer-report", "train"),
    *("train-classifier", "train-tokenizer"),
)
COMMANDS = (  # as the help lists them
    *("check", "fetch", "init", "plan", "preflight", "train-crystals"),
    *("dft-collect", "dft-inputs", "evaluate-crystals", "evaluate-images"),
    *("generate-crystals", "generate-images", "generate-text"),
    *("compare", "cost", "report-page", "serve", "show", "trace"),
    *("calibrate-models", "dvc", "evidence", "export-weights", "jobs", "reference-energies", "schema"),
    *STAGES,
)


PREPARE = ("prepare", "prepare-images")
SAMPLE = ["--experiment", "checkerboard", "--run", "metric", "--tokens=README.md", "--weights=README.md", "--output=x"]
REFERENCE = ["--experiment", "checkerboard", "--tokens", "README.md", "--output", "x"]


def function_of(command: str) -> Any:
    """Return the function behind a command."""
    found = getattr(importlib.import_module(command_modules()[command]), command.replace("-", "_"))
    return getattr(found, "function", found)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_all_its_parameters_explain_themselves(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    function = function_of(command)
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert " ".join(shown.split()).startswith(f"Usage: python -m pipeline {command} ")
    first, *further = inspect.signature(function).parameters.values()
    flags = FLAGS.get(get_type_hints(function)[first.name])
    parameters = [first, *further] if flags is None else further
    said = docstring_parser.parse(inspect.cleandoc(function.__doc__))
    assert said.short_description
    assert said.short_description in " ".join(shown.split())
    names = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    hints = get_type_hints(function, include_extras=True) | (
        get_type_hints(flags, include_extras=True) if flags else {}
    )
    explained = {one.arg_name for one in said.params if one.description}
    explained |= {name for name, hint in hints.items() if any(map(help_in, getattr(hint, "__metadata__", ())))}
    names += [one.name for one in fields(flags)] if flags else []
    assert {*names, *(one.name for one in parameters)} <= explained
    assert explained <= hints.keys()
    assert all(f"--{name.replace('_', '-')} " in shown for name in names)


def help_in(metadata: object) -> bool:
    """Return whether a part of a type gives help."""
    return isinstance(metadata, Parameter) and bool(metadata.help)


def test_the_list_of_commands_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    listed = re.findall(r"^│ ([a-z-]+) ", shown, re.MULTILINE)
    titles = set(re.findall(r"^╭─ (.*?) ─", shown, re.MULTILINE))
    assert tuple(name for name in listed if name != "--help") == COMMANDS
    assert {title for title, _ in GROUPS} | {STAGES_TITLE, UPKEEP} <= titles


def test_every_group_of_the_help_names_commands_that_exist_or_begin_so() -> None:
    others = ("show", "compare", "serve")
    for _, starts in GROUPS:
        for start in starts:
            assert start in others or any(name.startswith(start) for name in command_modules()), start


def test_help_imports_nothing_that_computes() -> None:
    code = (
        "import sys, pipeline.cli as cli\n"
        "for command in ([], *([name] for name in cli.command_modules())):\n"
        "    assert cli.main([*command, '--help']) == 0\n"
        "    found = sys.modules.keys() & {'torch', 'numpy', 'pandas', 'pymatgen', 'matplotlib', 'snakemake'}\n"
        "    assert not found, (command, found)"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert shown.stderr == ""
    assert shown.stdout.count("Usage: ") == 1 + len(COMMANDS)


@pytest.mark.parametrize("command", [name for name in STAGES if name not in ("judge", "oracle", *PREPARE)])
def test_every_input_is_looked_for_before_anything_else_even_the_configuration(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").touch()
    hints = get_type_hints(function_of(command), include_extras=True)
    signature = inspect.signature(function_of(command)).parameters
    inputs = [name for name, hint in hints.items() if READ in getattr(hint, "__metadata__", ())]
    assert inputs
    known = {"config": "nowhere.yaml", "experiment": "x", "run": "x", "reference": "data"}
    flags = {None: [], Job: ["config", "experiment"], RunJob: ["config", "experiment", "run"]}[hints.get("job")]
    required = [name for name, one in signature.items() if one.default is inspect.Parameter.empty and name != "job"]
    for missing in inputs:
        values = known | dict.fromkeys(inputs, "there") | {missing: "missing"}
        given = dict.fromkeys([*flags, *required, missing])
        arguments = [f"--{name.replace('_', '-')}={values.get(name, 'new')}" for name in given]
        assert main([command, *arguments]) == 2
        assert capsys.readouterr().err.startswith("error: missing: no such file; make it with the command"), missing
        assert os.listdir() == ["there"]


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
        (["trian"], "trian: no such command; did you mean 'train'?"),
        (["check", "--confg", "x"], "Did you mean --config?"),
        (["gather", "--shard", "README.md", "--output", "x"], "Did you mean --shards"),
        (["gather", "--shards", "README.md"], "--output requires an argument"),
        (["gather", "--shards", "nowhere.safetensors", "--output", "x"], "nowhere.safetensors: no such file"),
        (["schema", "extra"], "extra"),
        (["sample", *SAMPLE, "--shards", "0"], '"0" for --shards. Must be >= 1'),
        (["sample", *SAMPLE, "--gpus", "many"], 'for --gpus: unable to convert "many" into int'),
        (["reference", *REFERENCE, "--reference", "dat"], 'Did you mean "data"?'),
        (["check", "--set", "sede=1"], "did you mean 'seed'"),
        (["check", "--config", "nowhere/at_all.yaml"], "no such file"),
        (["prepare", "--experiment", "checkerbord", "--output", "x"], "did you mean 'checkerboard'"),
        (["fetch", "mnits"], "mnist"),
        (["evaluate-crystals", "nowhere", "--output", "x"], "nowhere"),
        (["evaluate-crystals", "x", "--experiment", "checkerboard", "--output", "x"], "not one on crystals"),
        (["generate-crystals", "--run", "mask_k0", "--formula", "NaCl", "--output", "x"], "did you mean 'mask_ko'"),
        (["generate-crystals", "--formula", "NaCl", "--output", "x"], "--run: name a trained run of the configuration"),
        (["generate-text", "--weights", "some_text", "--output", "x"], "--weights some_text: no such weights"),
        (
            ["generate-crystals", "--run", "ar", "--formula", "NaCl", "--weights", "no", "--output", "x"],
            "no such weights",
        ),
    ],
)
def test_an_error_is_one_message_and_status_2(
    arguments: list[str], hint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("error: ") == 1
    assert hint in shown.err


def test_the_process_ends_with_that_status_and_without_a_traceback() -> None:
    command = [sys.executable, "-m", "pipeline", "trian"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: trian: no such command")
    assert result.stderr.count("\n") == 1


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m pipeline schema | head -n 1; exit ${{PIPESTATUS[0]}}"  # more than a pipe holds
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("# Made by `make schema`")


def test_an_unknown_run_is_refused(
    tiny_file: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tokens").touch()
    files = [f"--{name}={tmp_path / name}" for name in ("tokens", "checkpoints", "weights", "metrics", "history")]
    assert main(["train", "--config", str(tiny_file()), "--experiment", "checkerboard", "--run", "metrik", *files]) == 2
    assert "did you mean 'metric'" in capsys.readouterr().err
