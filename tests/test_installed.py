"""The installed package: it can be imported anywhere, and has a command of its own."""

import re
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest
import yaml
from tiny import TINY

from pipeline.cli import main

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel as `pip install` leaves it, without what it needs."""
    target, source = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("source")
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in (name for name in files if (ROOT / name).is_file()):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip"]
    options = ["--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "wheel", *options, "--no-build-isolation", "--wheel-dir", str(source), str(source)], check=True
    )
    (wheel,) = source.glob("kinoflow-*.whl")
    subprocess.run([*pip, "install", *options, "--target", str(target), str(wheel)], check=True)
    return target


@pytest.fixture(scope="module")
def project(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `kinoflow init` has written."""
    folder = tmp_path_factory.mktemp("work") / "my-project"
    run(installed, folder.parent, str(installed / "bin/kinoflow"), "init", "my-project")
    return folder


def run(installed: Path, folder: Path, *command: str) -> str:
    """Run a command of this Python in a folder, with the installed package, and return what it prints."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"PYTHONPATH": str(installed), "PATH": path, "MPLBACKEND": "Agg", "HOME": str(folder)}
    called = [sys.executable, *command]
    done = subprocess.run(called, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


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


def test_a_new_project_has_the_experiment_of_the_demo_with_its_comments(installed: Path, project: Path) -> None:
    text = (project / "config/demo.yaml").read_text()
    whole = (ROOT / "config/demo.yaml").read_text()
    assert yaml.safe_load(text)["experiments"] == {"checkerboard": yaml.safe_load(whole)["experiments"]["checkerboard"]}
    assert "# All keys are explained" in text
    stages = yaml.safe_load((project / "dvc.yaml").read_text())["stages"]
    assert "table_checkerboard" in stages
    assert "deps" not in stages["jobs"]  # there is no code in the folder
    assert {"profiles/default/config.yaml", "slurm/config.yaml", "README.md", "Snakefile"} <= {
        str(file.relative_to(project)) for file in project.rglob("*")
    }


def test_the_workflow_of_the_package_runs_in_a_new_project(installed: Path, project: Path) -> None:
    tiny = TINY | {"scale": "demo"}
    (project / "config/demo.yaml").write_text(yaml.safe_dump(tiny))
    said = run(installed, project, "-m", "snakemake", "--cores", "2")
    assert "Kinoflow, scale demo: 18 jobs" in said
    table = (project / "results/demo/tables/checkerboard.csv").read_text()
    assert [line.split(",")[0] for line in table.splitlines()][1:3] == ["mask_linear", "metric"]
    record = (project / "results/demo/tables/checkerboard.csv.provenance.json").read_text()
    assert str(ROOT) not in record


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["there"], "there: there is something already; name a new folder"),
        (["new", "--scale", "dmeo"], "did you mean 'demo'"),
        (["new", "--experiments", "checkerbord"], "did you mean 'checkerboard'"),
    ],
)
def test_a_project_that_cannot_be_written_is_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "there/mine.txt").touch()
    assert main(["init", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
