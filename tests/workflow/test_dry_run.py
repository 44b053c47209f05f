"""What the workflow plans, and that it plans nothing when the configuration is wrong."""

from dataclasses import dataclass

import pytest
from project import Project


@dataclass(frozen=True)
class Scale:
    """How many runs and shards a scale has; text also has runs for each number of steps that is swept."""

    shards: int
    crystal_runs: int
    crystal_shards: int
    relaxation_shards: int
    text_runs: int  # the autoregressive one included
    text_shards: int
    swept: int
    judges: int


@pytest.mark.parametrize(
    "name, scale",
    [
        ("demo", Scale(1, 4, 1, 1, 5, 1, 1, 0)),
        ("small", Scale(4, 5, 2, 2, 11, 2, 2, 1)),
        ("paper", Scale(20, 5, 4, 50, 34, 4, 6, 1)),
    ],
)
def test_every_scale_plans_its_jobs(project: Project, name: str, scale: Scale) -> None:
    trained, references, names = 4 + scale.crystal_runs + scale.text_runs, 2 + 3 + 2, scale.crystal_runs + 3
    texts = scale.text_runs + (scale.text_runs - 1) * scale.swept
    runs = 4 + scale.crystal_runs + texts
    expected = {
        "prepare": 2,
        "prepare_crystals": 1,
        "train": trained,
        "sample": 4 * scale.shards + scale.crystal_runs * scale.crystal_shards + texts * scale.text_shards,
        "gather": runs,
        "texts": texts + 2,
        "reference": references,
        "decode": names,
        "describe": names,
        "describe_test": 1,
        "relax": names * scale.relaxation_shards,
        "gather_relaxed": names,
        "hull": 1,
        "calibrate": 1,
        "assess": names,
        "score": runs,
        "score_reference": references,
        "table": 3,
        "figure": 3,
        "all": 1,
    } | ({"judge": scale.judges} if scale.judges else {})
    planned = project.planned(name)
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
