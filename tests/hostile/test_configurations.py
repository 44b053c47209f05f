"""Configurations that try to hang, to fill the memory or to leak a password end in one message."""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.config.loading import load_config, write_config
from pipeline.errors import without_secrets
from pipeline.store.provenance import process_record, set_command

ROOT = Path(__file__).parents[2]
ALIASES = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.fixture
def said(only_message: Callable[[int], str]) -> Callable[..., str]:
    """Return a function that runs a command, which must fail, and returns its only message."""
    return lambda *arguments: only_message(main([*map(str, arguments)]))


@pytest.mark.parametrize(
    "text, why",
    [
        (ALIASES, "line 5: stands for more than 100,000 values once its aliases are written out"),
        ("experiments: &x {self: *x}", "line 1: an alias stands for a part of itself"),
        ("seed: &a\n  <<: *a\n", "an alias stands for a part of itself"),
        ("a: " + "[" * 61 + "]" * 61, "line 1: nested too deep; at most 60 levels are read"),
        ("a: " + "[" * 100_000, "nested too deep"),
        ("a: " + "1" * 5_000_000, "at most 4,000,000"),
        ("seed: !!int ''", "not valid YAML"),
        ("seed: 2001-13-45", "not valid YAML"),
    ],
    ids=["aliases", "itself", "merged", "deep", "very deep", "long", "empty number", "date"],
)
def test_a_configuration_that_grows_without_end_is_refused(
    tmp_path: Path, said: Callable[..., str], text: str, why: str
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    assert why in (shown := said("check", "--config", file))
    assert str(file) in shown


def test_the_mark_of_a_resolved_configuration_opens_no_door(tmp_path: Path, said: Callable[..., str]) -> None:
    """Anybody can compute it, and weights of others bring such a file."""
    file = tmp_path / "config.yaml"
    write_config(file, load_config(ROOT / "config/demo.yaml", choices=False))
    mark = file.read_text().partition("\n")[0]
    file.write_text(f"{mark[:-64]}{hashlib.sha256(ALIASES.encode()).hexdigest()}\n{ALIASES}")
    assert "stands for more than 100,000 values" in said("check", "--config", file)


@pytest.mark.parametrize("setting", ["experiments=&x {self: *x}", f"{'a.' * 61}b=1"])
def test_a_setting_that_grows_without_end_is_refused(
    tiny_file: Callable[..., Path], said: Callable[..., str], setting: str
) -> None:
    assert "--set: 1 problem" in said("check", "--config", tiny_file(), "--set", setting)


@pytest.mark.parametrize(
    "setting, message",
    [
        ("training.steps=100000000000000000000000000", "must be at most 9,007,199,254,740,992 in size"),
        ("training.steps=1000000001", "training.steps = 1000000001: must be at most 1000000000"),
        ("sampling.temperature=1e-320", "sampling.temperature = 1e-320: must be at least 0.0001"),
        ("model.depth=1000000000", "model.depth = 1000000000: must be at most 1000"),
        ("sampling.shards=1000000000", "sampling.shards = 1000000000: must be at most 10000"),
        ("sweep=[{steps: [1000000000]}]", "sweep.0.steps.0 = 1000000000: must be at most 1000000"),
        ("sampling.guidance=1e300", "sampling.guidance = 1e+300: must be at most 10000"),
    ],
)
def test_numbers_beyond_all_reason_are_refused_by_their_key(
    tiny_file: Callable[..., Path], said: Callable[..., str], setting: str, message: str
) -> None:
    shown = said("check", "--config", tiny_file(), "--set", f"experiments.checkerboard.{setting}")
    assert message in shown
    assert f"experiments.checkerboard.{setting.partition('=')[0]}" in shown


def test_text_after_set_that_is_no_setting_is_shown(said: Callable[..., str]) -> None:
    assert '"digits": write it as key.of.keys=value' in said("fetch", "--set", "data.cache=x", "digits")


def test_an_address_is_no_mirror_and_its_password_is_not_shown(
    tiny_file: Callable[..., Path], said: Callable[..., str]
) -> None:
    shown = said("check", "--config", tiny_file(), "--set", "data.mirror=https://me:hunter22@example.org/data")
    assert "data.mirror" in shown
    assert "must be a folder, not an address" in shown
    assert "hunter22" not in shown


def test_commands_in_provenance_hold_no_password_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    monkeypatch.setenv("MONKEY", "short")  # too short to be a secret
    set_command(["fetch", "--mirror", "https://me:hunter22@example.org", "--set", "x=hf_0123456789", "short"])
    command = json.dumps(process_record()["command"])
    assert "hunter22" not in command
    assert "hf_0123456789" not in command
    assert "short" in command
    assert without_secrets("a hf_0123456789 b") == "a *** b"


def test_the_plan_warns_of_trainings_that_no_machine_holds_or_ends(
    tiny_file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    huge = {"model": {"width": 10**6}, "training": {"steps": 10**6}}
    began = time.process_time()
    assert main(["plan", "--config", str(tiny_file({"experiments": {"checkerboard": huge}}))]) == 0
    assert time.process_time() - began < 60
    warnings = " ".join(capsys.readouterr().out.rpartition("Warnings")[2].split())
    assert "checkerboard: train of metric needs 40,002,397 MB or more, but may have 2,000 MB" in warnings
    assert "h or more without a GPU, but may take 1 h" in warnings
