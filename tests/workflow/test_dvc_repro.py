"""DVC takes over what the workflow has made, runs what a change concerns, shows the difference and goes back."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from project import Project
from tiny import TINY

TABLE = "results/demo/tables/checkerboard"
RATE = "experiments.checkerboard.runs.metric.training.learning_rate"
UNNAMED = ("logs", "benchmarks", "tensorboard", "checkpoints", "config.yaml")  # of no version; what jobs leave besides


def run(project: Project, command: str) -> str:
    """Run a command in the project and return what it says."""
    done = project.run(*command.split())
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}"
    return done.stdout


def stages_run(said: str) -> list[str]:
    return [line.split("'")[1] for line in said.splitlines() if line.startswith("Running stage")]


def go_back(project: Project) -> None:
    run(project, "git checkout -- .")
    run(project, "dvc checkout")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in Git whose demo is a tiny checkerboard, made by the workflow and taken over by DVC."""
    project = Project.copy_to(tmp_path_factory.mktemp("versions"))
    (project.folder / "config/demo.yaml").write_text(yaml.safe_dump(TINY | {"scale": "demo"}, sort_keys=False))
    run(project, "git init --quiet")
    run(project, "git config user.name test")
    run(project, "git config user.email test@localhost")
    run(project, "python -m pipeline dvc --output dvc.yaml")
    run(project, "snakemake --cores 2")
    run(project, "dvc repro jobs")
    run(project, "dvc commit --force")
    run(project, "git add .")
    run(project, "git commit --quiet --message first")
    return project


def test_what_the_workflow_has_made_is_not_made_again(made: Project) -> None:
    said = run(made, "dvc repro")
    assert stages_run(said) == []
    assert "up to date" in said
    assert run(made, "git status --short") == ""


def test_the_metrics_are_a_line_a_run_that_fits_a_screen(made: Project) -> None:
    lines = run(made, "dvc metrics show").splitlines()
    rows = {line.split()[0].removeprefix("results/demo/headlines/"): line.split()[1:] for line in lines}
    assert rows.pop("Path") == ["total_variation"]
    runs = ("mask_linear", "metric", "data", "independent")
    assert rows.keys() == {f"checkerboard/{run}.json" for run in runs}
    for name, (value,) in rows.items():
        score = json.loads((made.folder / "results/demo/scores" / name).read_text())
        assert float(value) == pytest.approx(score["metrics"]["total_variation"], rel=1e-4)
    assert max(map(len, lines)) <= 200


def test_every_file_of_a_version_is_in_git_or_in_the_cache(made: Project) -> None:
    results = made.folder / "results/demo"
    for entry in (entry for entry in results.iterdir() if entry.name not in UNNAMED):
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    go_back(made)
    assert stages_run(run(made, "dvc repro")) == []
    assert (results / "figures/checkerboard.png").is_file()


def test_another_clone_has_the_results_of_the_remote_and_makes_none_again(made: Project, tmp_path: Path) -> None:
    run(made, f"dvc remote add --default --local store {tmp_path / 'store'}")
    run(made, "dvc push")
    run(made, f"git clone --quiet {made.folder} {tmp_path / 'clone'}")
    clone = Project(tmp_path / "clone")
    run(clone, f"dvc remote add --default --local store {tmp_path / 'store'}")
    run(clone, "dvc pull")
    for file in ("figures/checkerboard.png", "models/checkerboard/metric.safetensors", "jobs.json"):
        assert (clone.folder / "results/demo" / file).read_bytes() == (made.folder / "results/demo" / file).read_bytes()
    assert stages_run(run(clone, "dvc repro")) == []


def test_a_learning_rate_runs_its_run_again_is_shown_and_can_be_taken_back(made: Project) -> None:
    before = (made.folder / f"{TABLE}.csv").read_text()
    said = run(made, f"dvc exp run --set-param config/demo.yaml:+{RATE}=0.05")
    ran = [f"{stage}_checkerboard@metric" for stage in ("train", "sample", "score")]
    assert stages_run(said)[:4] == ["jobs", *ran]
    assert set(stages_run(said)[4:]) == {"table_checkerboard", "figure_checkerboard"}
    after = (made.folder / f"{TABLE}.csv").read_text()
    changed = [new for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new]
    assert len(changed) == 1
    assert changed[0].startswith("metric,")
    assert "headlines/checkerboard/metric.json" in (difference := run(made, "dvc metrics diff"))
    assert "total_variation" in difference
    assert "mask_linear" not in difference
    assert "metric.inside_support" in run(made, f"dvc metrics diff --targets {TABLE}.json")
    assert RATE in (parameters := run(made, "dvc params diff"))
    assert "train.checkerboard.metric.settings.training.learning_rate" in parameters
    page = run(made, f"dvc plots diff --targets {TABLE}.csv --out plots")
    assert "index.html" in page
    assert "total_variation" in (made.folder / "plots/index.html").read_text()
    go_back(made)
    assert (made.folder / f"{TABLE}.csv").read_text() == before
    assert stages_run(run(made, "dvc repro")) == []


def test_shards_and_memory_change_no_result(made: Project) -> None:
    config = yaml.safe_load((made.folder / "config/demo.yaml").read_text())
    config["experiments"]["checkerboard"]["sampling"] |= {"shards": 3, "resources": {"memory_mb": 999}}
    (made.folder / "config/demo.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    assert stages_run(run(made, "dvc repro")) == ["jobs"]
    go_back(made)


def test_an_edit_of_the_sampler_samples_again_and_trains_nothing(made: Project) -> None:
    steps = made.folder / "pipeline/flow/steps.py"
    code = steps.read_text()
    assert code.count("-torch.expm1(-rate * (") == 1
    steps.write_text(code.replace("-torch.expm1(-rate * (", "-torch.expm1(-0.5 * rate * ("))
    weights, samples = (
        made.folder / f"results/demo/{of}/checkerboard/metric.safetensors" for of in ("models", "samples")
    )
    before = weights.read_bytes(), samples.read_bytes()
    said = run(made, "dvc repro sample_checkerboard@metric")
    assert stages_run(said) == ["jobs", "sample_checkerboard@metric"]
    assert weights.read_bytes() == before[0]
    assert samples.read_bytes() != before[1]
    go_back(made)
    assert stages_run(run(made, "dvc repro")) == []
