"""What the workflow plans, and that it plans nothing when the configuration is wrong."""

import pytest
from project import Project


@pytest.mark.parametrize("scale, shards", [("demo", 1), ("small", 4), ("paper", 20)])
def test_every_scale_plans_its_jobs(project: Project, scale: str, shards: int) -> None:
    runs = 4
    expected = {
        "prepare": 1,
        "train": runs,
        "sample": runs * shards,
        "gather": runs,
        "reference": 2,
        "score": runs,
        "score_reference": 2,
        "table": 1,
        "figure": 1,
        "all": 1,
    }
    assert project.planned(scale) == expected | {"total": sum(expected.values())}


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
