"""The lock: everything exact, and the same in every environment."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
RULE = re.compile(r"^rule ", re.MULTILINE)
PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.]+)")


def pins(path: Path) -> dict[str, str]:
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    found = {}
    for line in filter(None, lines):
        match = PIN.fullmatch(line)
        assert match, f"{path.name}: {line!r} is not an exact pin of a release"
        found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2]
    return found


def test_every_direct_dependency_is_locked_at_its_version() -> None:
    locked = pins(ROOT / "envs/requirements.txt")
    direct = pins(ROOT / "envs/requirements.in") | pins(ROOT / "envs/development.in")
    assert direct.items() <= locked.items()
    assert len(locked) > len(direct)


def packages(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith(("#", "-"))]


@pytest.mark.parametrize("kind, files", [("cpu", ["requirements.txt"]), ("gpu", ["requirements.txt", "gpu.txt"])])
def test_the_conda_environments_have_the_same_packages(kind: str, files: list[str]) -> None:
    *conda, pip = yaml.safe_load((ROOT / f"envs/{kind}.yaml").read_text())["dependencies"]
    assert pip["pip"] == [line for file in files for line in packages(ROOT / "envs" / file)]
    assert conda == ["python=3.11", "pip"]


def test_rules_that_may_use_a_gpu_name_the_environment_for_it() -> None:
    rules = [rule for file in (ROOT / "workflow/rules").glob("*.smk") for rule in RULE.split(file.read_text())[1:]]
    named = [(rule, re.findall(r"conda:\s+\"\.\./\.\./envs/(\w+)\.yaml\"", rule)) for rule in rules if "shell:" in rule]
    assert len(named) > 20
    for rule, environments in named:
        assert environments == ["gpu" if "--gpus" in rule else "cpu"], rule


def test_continuous_integration_runs_make_test() -> None:
    script = ROOT / ".ci/run"
    assert script.stat().st_mode & 0o111
    commands = [line for line in script.read_text().splitlines() if line and not line.startswith(("#", "set", "cd"))]
    assert commands == ["exec make test"]
