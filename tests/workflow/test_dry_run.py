"""What the workflow plans, and that it plans nothing when the configuration is wrong."""

import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest
from project import ROOT, Project

from pipeline.config import Config
from pipeline.config.loading import load_config
from pipeline.inspect.jobs import fetched_files, jobs_of
from pipeline.stages.job import Job

SAME_STAGE = {  # rules that call the command of another
    "prepare_crystals": "prepare",
    "describe_test": "describe",
    "sample_whole": "sample",
    "relax_whole": "relax",
}


def configuration(scale: str) -> Config:
    return load_config(ROOT / f"config/{scale}.yaml", choices=False)


@pytest.mark.parametrize("scale", ["demo", "small", "paper"])
def test_every_scale_plans_the_jobs_of_its_scale_sheet(
    project: Project, scale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)  # whose cache is empty
    config = configuration(scale)
    expected = Counter({"all": 1, "report_page": 1, "fetch": len(fetched_files(config))})
    for name in config.experiments:
        expected += jobs_of(Job(config, name))
    planned = Counter(project.planned(scale))
    for rule, stage in SAME_STAGE.items():
        planned[stage] += planned.pop(rule, 0)
    assert planned == expected | {"total": expected.total()}


def test_the_scale_sheet_knows_of_further_choices(project: Project) -> None:
    tiny = Counter(jobs_of(Job(load_config(project.folder / "config/tiny.yaml"), "checkerboard")))
    further = {"all": 1, "report_page": 1, "total": tiny.total() + 1}
    assert project.planned(values="{figure: null}") == tiny - Counter(["figure"]) | further


@pytest.mark.parametrize(
    "experiment, networks, samples",
    [
        ("checkerboard", 4, 4),
        ("materials", 5, 5 + 3),
        ("text", 24, 24 + 23 * 6),  # one is autoregressive: its steps cannot be swept
        ("text_openwebtext", 5, 5 + 4 * 6),
        (
            "pixels",
            3,
            3 + 3 * 4 + 3 * 5 + 4,
        ),  # steps, two velocities and a kind of step of one run at five numbers of steps, searches
        (
            "latents",
            3,
            3 + 3 * 15 + 2 * 4 + 2,
        ),  # of 16 scales of guidance and 5 numbers of steps each run has one itself
    ],
)
def test_the_papers_scale_has_its_networks_and_sweeps(experiment: str, networks: int, samples: int) -> None:
    runs = configuration("paper").experiments[experiment].runs.values()
    assert (sum(not run.weights for run in runs), len(runs)) == (networks, samples)


def test_an_experiment_without_a_figure_plans_none(project: Project) -> None:
    assert "figure" not in project.planned(values="{figure: null}")


@pytest.mark.parametrize(
    "values, key",
    [
        ("{training: {stepz: 5}}", "experiments.checkerboard.training.stepz = 5: unknown key; did you mean 'steps'?"),
        ("{runs: {metric: {loss: mixture_elbo}}}", "experiments.checkerboard.runs.metric.loss: does not work"),
    ],
)
def test_a_mistake_stops_the_workflow_before_any_job(project: Project, values: str, key: str) -> None:
    result = project.snakemake("--cores", "1", values=values)
    assert result.returncode != 0
    assert f"config/tiny.yaml: 1 problem\n  {key}" in result.stdout
    assert "Job stats" not in result.stdout
    assert not (project.folder / "results").exists()


def test_a_scale_that_does_not_exist_is_refused_with_those_that_do(project: Project) -> None:
    result = project.snakemake("--dry-run", scale="tyni")
    assert result.returncode != 0
    assert "config/tyni.yaml" in result.stdout
    assert "config/tiny.yaml" in result.stdout


def test_another_workflow_can_take_it_as_a_module(project: Project, tmp_path: Path) -> None:
    """As `snakedeploy deploy-workflow` writes it."""
    module = f'module kinoflow:\n    snakefile: "{project.folder}/workflow/Snakefile"\n    config: config\n'
    (tmp_path / "workflow").mkdir()
    (tmp_path / "workflow/Snakefile").write_text(f"{module}\nuse rule * from kinoflow\n")
    (tmp_path / "config").mkdir()
    shutil.copy(ROOT / ".test/config/demo.yaml", tmp_path / "config/demo.yaml")
    said = Project(tmp_path).run(sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "rules")
    assert said.returncode == 0, said.stdout
    counts = dict(re.findall(r"^(\w+) +(\d+)$", said.stdout, re.MULTILINE))
    assert (counts["train"], counts["table"], counts["report_page"]) == ("2", "1", "1")
