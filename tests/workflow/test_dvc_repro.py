"""DVC takes over what the workflow has made, runs what a change concerns, shows the difference and goes back."""

import shutil
from pathlib import Path

import pytest
import yaml
from project import ROOT, Project
from tiny import TINY

TABLE = "results/demo/tables/checkerboard"
REPORT = "report_checkerboard"
RATE = "experiments.checkerboard.runs.metric.training.learning_rate"
UNNAMED = ("logs", "benchmarks", "tensorboard", "config.yaml")  # of no version; what jobs leave besides


def run(project: Project, command: str) -> str:
    """Run a command in the project and return what it says."""
    done = project.run(*command.split())
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}"
    return done.stdout


def stages_run(said: str) -> list[str]:
    return [line.split("'")[1] for line in said.splitlines() if line.startswith("Running stage")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in Git whose demo has a tiny checkerboard, made by the workflow and taken over by DVC."""
    project = Project.copy_to(tmp_path_factory.mktemp("versions"))
    demo = yaml.safe_load((ROOT / "config/demo.yaml").read_text())
    demo["experiments"]["checkerboard"] = TINY["experiments"]["checkerboard"]
    (project.folder / "config/demo.yaml").write_text(yaml.safe_dump(demo, sort_keys=False))
    run(project, "git init --quiet")
    run(project, "git config user.name test")
    run(project, "git config user.email test@localhost")
    run(project, f"snakemake --cores 2 {TABLE}.csv results/demo/figures/checkerboard.png code_of_stages")
    run(project, f"dvc commit --force --with-deps {REPORT}")
    run(project, "git add .")
    run(project, "git commit --quiet --message first")
    return project


def test_what_the_workflow_has_made_is_not_made_again(made: Project) -> None:
    said = run(made, f"dvc repro {REPORT}")
    assert stages_run(said) == []
    assert "up to date" in said
    assert run(made, "git status --short") == ""


def test_every_file_of_a_version_is_in_git_or_in_the_cache(made: Project) -> None:
    results = made.folder / "results/demo"
    for folder in (entry for entry in results.iterdir() if entry.name not in UNNAMED):
        shutil.rmtree(folder)
    run(made, "git checkout -- results")
    run(made, f"dvc checkout --with-deps {REPORT}")
    assert stages_run(run(made, f"dvc repro {REPORT}")) == []
    assert (results / "figures/checkerboard.png").is_file()


def test_another_clone_has_the_results_of_the_remote_and_makes_none_again(made: Project, tmp_path: Path) -> None:
    run(made, f"dvc remote add --default --local store {tmp_path / 'store'}")
    run(made, f"dvc push --with-deps {REPORT}")
    run(made, f"git clone --quiet {made.folder} {tmp_path / 'clone'}")
    clone = Project(tmp_path / "clone")
    run(clone, f"dvc remote add --default --local store {tmp_path / 'store'}")
    run(clone, f"dvc pull --with-deps {REPORT}")
    for file in ("figures/checkerboard.png", "models/checkerboard/metric.safetensors", "tables/checkerboard.csv"):
        assert (clone.folder / "results/demo" / file).read_bytes() == (made.folder / "results/demo" / file).read_bytes()
    assert stages_run(run(clone, f"dvc repro {REPORT}")) == []


def test_a_learning_rate_runs_its_run_again_is_shown_and_can_be_taken_back(made: Project) -> None:
    before = (made.folder / f"{TABLE}.csv").read_text()
    said = run(made, f"dvc exp run --set-param config/demo.yaml:+{RATE}=0.05 {REPORT}")
    runs = [f"{stage}_checkerboard@metric" for stage in ("train", "sample", "score")]
    assert stages_run(said) == ["code", *runs, REPORT]
    after = (made.folder / f"{TABLE}.csv").read_text()
    changed = [new for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new]
    assert len(changed) == 1
    assert changed[0].startswith("metric,")
    assert f"{TABLE}.json" in (difference := run(made, "dvc metrics diff"))
    assert "metric.total_variation" in difference
    assert "mask_linear" not in difference
    assert RATE in run(made, "dvc params diff")
    page = run(made, f"dvc plots diff --targets {TABLE}.csv --out plots")
    assert "index.html" in page
    assert "total_variation" in (made.folder / "plots/index.html").read_text()
    run(made, "git checkout -- .")
    run(made, f"dvc checkout --with-deps {REPORT}")
    assert (made.folder / f"{TABLE}.csv").read_text() == before
    assert stages_run(run(made, f"dvc repro {REPORT}")) == []
