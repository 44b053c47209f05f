"""What the workflow plans, and that it plans nothing when the configuration is wrong."""

import pytest
from project import Project


@pytest.mark.parametrize(
    "scale, shards, crystal_runs, crystal_shards, relaxation_shards",
    [("demo", 1, 4, 1, 1), ("small", 4, 5, 2, 2), ("paper", 20, 5, 4, 50)],
)
def test_every_scale_plans_its_jobs(
    project: Project, scale: str, shards: int, crystal_runs: int, crystal_shards: int, relaxation_shards: int
) -> None:
    runs, references, names = 4 + crystal_runs, 2 + 3, crystal_runs + 3
    expected = {
        "prepare": 1,
        "prepare_crystals": 1,
        "train": runs,
        "sample": 4 * shards + crystal_runs * crystal_shards,
        "gather": runs,
        "reference": references,
        "decode": names,
        "describe": names,
        "describe_test": 1,
        "relax": names * relaxation_shards,
        "gather_relaxed": names,
        "hull": 1,
        "calibrate": 1,
        "assess": names,
        "score": runs,
        "score_reference": references,
        "table": 2,
        "figure": 2,
        "all": 1,
    }
    planned = project.planned(scale)
    fetched = planned.pop("fetch")  # none that is in the cache already
    assert fetched > 0
    assert planned == expected | {"total": sum(expected.values()) + fetched}


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
