"""One rule for `--config`: a file that leaves things out is merged over the configuration of its scale."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tiny import TINY

from pipeline.cli import main
from pipeline.config.loading import load_config, load_layered, write_config
from pipeline.config.problems import ConfigError

OVERLAY = {"scale": "tiny", "experiments": {"checkerboard": {"training": {"steps": 7}}}}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a complete configuration and a file that changes one number of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/tiny.yaml").write_text(yaml.safe_dump(TINY))
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(OVERLAY))
    return tmp_path


def steps(path: str) -> int:
    return load_layered(Path(path)).experiments["checkerboard"].runs["metric"].training.steps


def test_an_overlay_changes_what_it_names_and_takes_the_rest_from_its_scale(place: Path) -> None:
    assert (steps("config/tiny.yaml"), steps("mine.yaml")) == (20, 7)
    (place / "config/demo.yaml").write_text(yaml.safe_dump(TINY | {"scale": "demo"}))
    (place / "mine.yaml").write_text("experiments: {checkerboard: {training: {steps: 9}}}")  # of the scale demo
    assert steps("mine.yaml") == 9


def test_a_complete_configuration_of_a_scale_without_one_stands_alone(place: Path) -> None:
    (place / "other.yaml").write_text(yaml.safe_dump(TINY | {"scale": "other"}))
    assert load_layered(Path("other.yaml")).scale == "other"


def test_a_resolved_configuration_is_read_as_it_is(place: Path) -> None:
    config = load_config(Path("config/tiny.yaml"), [{"experiments": {"checkerboard": {"training": {"steps": 3}}}}])
    write_config(place / "resolved.yaml", config)
    assert steps("resolved.yaml") == 3


def test_problems_name_the_overlay(place: Path) -> None:
    (place / "mine.yaml").write_text("scale: tiny\nsede: 1\n")
    with pytest.raises(ConfigError, match=r"mine.yaml: 1 problem\n.*did you mean 'seed'"):
        steps("mine.yaml")


def test_commands_take_an_overlay(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--config", "mine.yaml", "--set", "seed=4"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert (shown["seed"], shown["experiments"]["checkerboard"]["training"]["steps"]) == (4, 7)


def test_plan_and_preflight_look_at_one_experiment(
    tiny_file: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pixels = {"pixels": TINY["experiments"]["checkerboard"]}
    file = str(tiny_file({"experiments": pixels, "data": {"cache": str(tmp_path / "cache")}}))
    assert main(["plan", "--config", file, "--experiment", "pixels"]) == 0
    shown = capsys.readouterr().out
    assert "pixels" in shown
    assert "checkerboard" not in shown
    assert main(["preflight", "--config", file, "--experiment", "pixles"]) == 2
    assert "did you mean 'pixels'" in capsys.readouterr().err


def test_plan_lists_downloads_with_their_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    cache = f"data.cache={tmp_path / 'cache'}"
    assert main(["plan", "--experiment", "pixels", "--set", cache]) == 0
    shown = capsys.readouterr().out.partition("Files to fetch")[2]
    assert "digits/digits.csv.gz" in shown
    assert "57.5 kB" in shown or "57 kB" in shown or "0.06" in shown, shown
