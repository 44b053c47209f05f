"""The configuration that jobs read: resolved once, only read while it is as it was written, else checked in full."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.config.loading import load_config, parse_setting, read_resolved, write_config
from pipeline.config.problems import ConfigError

ROOT = Path(__file__).parents[1]
SCALES = sorted((ROOT / "config").glob("*.yaml"))
SLOW = ("torch", "numpy", "pymatgen", "pandas", "scipy")


@pytest.mark.parametrize("path", SCALES, ids=lambda path: path.stem)
def test_a_resolved_scale_is_read_as_it_was(path: Path, tmp_path: Path) -> None:
    config = load_config(path, choices=False)
    write_config(tmp_path / "resolved.yaml", config)
    assert read_resolved(tmp_path / "resolved.yaml") == config
    assert load_config(tmp_path / "resolved.yaml") == config


def test_a_file_that_was_not_written_by_us_is_not_resolved() -> None:
    assert [read_resolved(path) for path in SCALES] == [None] * len(SCALES)


def test_a_resolved_file_is_read_without_torch_and_its_friends(tmp_path: Path) -> None:
    write_config(tmp_path / "resolved.yaml", load_config(ROOT / "config/demo.yaml", choices=False))
    code = (
        "import sys; from pathlib import Path; from pipeline.config.loading import load_config;"
        f"load_config(Path({str(tmp_path / 'resolved.yaml')!r})); print(*({set(SLOW)} & set(sys.modules)))"
    )
    read = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert read.stdout == "\n"


@pytest.fixture
def resolved(tiny_file: Callable[..., Path], tmp_path: Path) -> Path:
    sweep = {"experiments": {"checkerboard": {"sweep": {"steps": [2]}, "seeds": [7]}}}
    write_config(tmp_path / "resolved.yaml", load_config(tiny_file(sweep)))
    return tmp_path / "resolved.yaml"


def test_an_edited_file_is_checked_in_full(resolved: Path) -> None:
    text = resolved.read_text()
    resolved.write_text(text.replace("name: mlp", "name: mpl"))
    assert read_resolved(resolved) is None
    with pytest.raises(ConfigError, match=r"model\.name = \"mpl\": unknown model; did you mean 'mlp'"):
        load_config(resolved)
    resolved.write_text(text.replace("loss:\n          name: cross_entropy", "loss:\n          name: mixture_elbo"))
    with pytest.raises(ConfigError, match=r"runs\.metric\.loss: does not work on the path 'metric'"):
        load_config(resolved)


def test_an_edited_file_that_is_still_valid_has_the_new_values(resolved: Path) -> None:
    before = load_config(resolved)
    resolved.write_text(resolved.read_text().replace("test: 120", "test: 121"))
    after = load_config(resolved)
    assert after.experiments["checkerboard"].data.options["test"] == 121
    assert after.experiments["checkerboard"].runs == before.experiments["checkerboard"].runs


def test_values_from_the_command_line_are_checked_over_a_resolved_file_too(resolved: Path) -> None:
    assert load_config(resolved, [parse_setting("seed=3")]).seed == 3
    with pytest.raises(ConfigError, match="did you mean 'seed'"):
        load_config(resolved, [parse_setting("sede=3")])


def test_a_file_that_holds_the_configuration_already_is_left_alone(resolved: Path) -> None:
    before = resolved.stat()
    write_config(resolved, load_config(resolved))
    after = resolved.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_mark_that_was_copied_to_another_file_does_not_count(resolved: Path, tmp_path: Path) -> None:
    mark = resolved.read_text().splitlines()[0]
    (tmp_path / "other.yaml").write_text(f"{mark}\nscale: other\n")
    with pytest.raises(ConfigError, match="experiments: is missing"):
        load_config(tmp_path / "other.yaml")


def test_a_file_that_another_version_of_the_project_resolved_is_refused_key_by_key(resolved: Path) -> None:
    mark, _, text = resolved.read_text().partition("\n")
    old = f"{text}colour: red\n"
    resolved.write_text(re.sub("[0-9a-f]{64}", hashlib.sha256(old.encode()).hexdigest(), mark) + f"\n{old}")
    with pytest.raises(ConfigError, match='colour = "red": unknown key'):
        load_config(resolved)
