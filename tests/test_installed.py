"""The installed package: it can be imported anywhere, and has a command of its own."""

import re
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as `pip install .` leaves it, without what it needs."""
    target, source = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("source")
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in (name for name in files if name.startswith(("pipeline/", "envs/", "pyproject", "LICENSE"))):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True)
    return target


def test_the_command_is_that_of_the_package(installed: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(installed / "bin/kinoflow"), "table", "--help"]
    environment = {"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"}
    shown = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert "Usage: kinoflow table" in shown
    assert "Make the table of an experiment." in shown


def test_it_can_be_imported_from_anywhere_with_its_tables(installed: Path, tmp_path: Path) -> None:
    code = (
        "import pipeline.crystals.fingerprints as f, pipeline.crystals.energies as e, pipeline.store.paper as p\n"
        "from pipeline.flow import Vocabulary, build_path, sample\n"
        "assert f.SCALER.is_file() and e.ELEMENTS.is_file() and p.paper_tables()\n"
        "print(f.__file__)"
    )
    environment = {"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert shown.startswith(str(installed))


def test_it_says_what_it_needs(installed: Path) -> None:
    (folder,) = installed.glob("*.dist-info")
    needed = Distribution.at(folder).requires or []
    direct = re.findall(r"^\S+==\S+$", (ROOT / "envs/requirements.in").read_text(), re.MULTILINE)
    assert {line for line in needed if "extra ==" not in line} == set(direct)
    assert {"torch", "snakemake", "pymatgen", "smact", "chgnet", "matminer", "pandas", "dvc"} <= {
        line.split("==")[0] for line in direct
    }
