"""The lock: everything exact, and the same in every environment."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
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
    direct, locked = pins(ROOT / "envs/requirements.in"), pins(ROOT / "envs/requirements.txt")
    assert direct.items() <= locked.items()
    assert len(locked) > len(direct)


def test_the_conda_environment_has_the_same_packages() -> None:
    *conda, pip = yaml.safe_load((ROOT / "envs/cpu.yaml").read_text())["dependencies"]
    lines = [line for line in (ROOT / "envs/requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert pip["pip"] == lines
    assert conda == ["python=3.11", "pip"]


def test_continuous_integration_runs_make_test() -> None:
    script = ROOT / ".ci/run"
    assert script.stat().st_mode & 0o111
    commands = [line for line in script.read_text().splitlines() if line and not line.startswith(("#", "set", "cd"))]
    assert commands == ["exec make test"]
