"""What the workflow plans, and that it plans nothing when the configuration is wrong."""

from collections import Counter

import pytest
from project import ROOT, Project

from pipeline.config import Config, Experiment
from pipeline.config_file import load_config


def jobs_of(experiment: Experiment) -> Counter[str]:
    """Return how many jobs of each rule an experiment takes, but for fetching."""
    runs, references = list(experiment.runs.values()), len(experiment.references)
    names = len(runs) + references
    jobs = Counter(
        train=sum(not run.weights for run in runs),
        sample=sum(run.sampling.shards for run in runs),
        gather=len(runs),
        reference=references,
        score=len(runs),
        score_reference=references,
        table=1,
        figure=1,
    )
    if experiment.crystals:
        stages = ("decode", "describe", "gather_relaxed", "assess")
        jobs.update(dict.fromkeys(stages, names) | {"relax": names * experiment.crystals.relaxation.shards})
        jobs.update(["prepare_crystals", "describe_test", "hull", "calibrate"])
    elif "frechet_distance" in experiment.scoring:
        jobs.update({"pictures": names, "search": sum(run.sampling.searched for run in runs)})
        jobs.update(["prepare_images", "image_reference", "conditional_path", "sweeps"])
        jobs.update(["train_tokenizer", "encode", "tokenizer_report"] if experiment.tokenizer else ["prepare_pixels"])
        jobs.update(["train_classifier"] if experiment.scoring["frechet_distance"]["features"] == "classifier" else [])
    else:
        jobs.update(["prepare"])
    if "generative_perplexity" in experiment.scoring:
        judge = experiment.scoring["generative_perplexity"]["judge"]
        jobs.update({"texts": names, "judge": "run" not in judge})
    return +jobs  # without those that are not planned


def configuration(scale: str) -> Config:
    return load_config(ROOT / f"config/{scale}.yaml", choices=False)


@pytest.mark.parametrize("scale", ["demo", "small", "paper"])
def test_every_scale_plans_its_jobs(project: Project, scale: str) -> None:
    expected = Counter(["all"])
    for experiment in configuration(scale).experiments.values():
        expected += jobs_of(experiment)
    planned = project.planned(scale)
    fetched = planned.pop("fetch")  # none that is in the cache already
    assert fetched > 0
    assert planned == expected | {"total": expected.total() + fetched}


@pytest.mark.parametrize(
    "experiment, networks, samples",
    [
        ("checkerboard", 4, 4),
        ("materials", 5, 5),
        ("text", 34, 34 + 33 * 6),  # one is autoregressive: its steps cannot be swept
        ("pixels", 3, 3 + 3 * 4 + 2 * 5 + 4),  # steps, two velocities of one run at five numbers of steps, searches
        ("latents", 3, 3 + 3 * 15 + 2 * 4),  # of 16 scales of guidance and 5 numbers of steps each run has one itself
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
