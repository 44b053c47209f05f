"""Experiments on images in the configuration: sweeps, searches, guidance, tokenizers, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny import TINY, TINY_FEATURES, TINY_LATENTS, TINY_PIXELS, TINY_TEXT

from pipeline.config import Config, Experiment
from pipeline.config.loading import load_config, merge, write_config
from pipeline.config.problems import ConfigError

EXPERIMENTS = {"pixels": TINY_PIXELS, "latents": TINY_LATENTS, "board": TINY["experiments"]["checkerboard"]}


def loaded(folder: Path, changes: dict[str, Any] | None = None) -> Config:
    path = folder / "images.yaml"
    experiments = {name: block for name, block in EXPERIMENTS.items() if name in (changes or EXPERIMENTS)}
    path.write_text(
        yaml.safe_dump(TINY | {"experiments": merge(experiments, changes or {})}, sort_keys=False), encoding="utf-8"
    )
    return load_config(path)


def pixels(folder: Path, **changes: Any) -> Experiment:
    return loaded(folder, {"pixels": changes}).experiments["pixels"]


def test_sweeps_and_searches_make_runs_with_the_networks_of_others(tmp_path: Path) -> None:
    config = loaded(tmp_path)
    runs = config.experiments["pixels"].runs
    swept = ["metric_steps_2", "metric_velocity_campbell_guidance_2", "metric_searched_2"]
    assert list(runs) == ["mask_cubic", "metric", *swept]
    assert [run.weights for run in runs.values()] == [None, None, "metric", "metric", "metric"]
    found = runs["metric_searched_2"].sampling
    assert (found.searched, found.steps, found.velocity.name, found.corrector) == (True, 2, "kinetic_optimal", None)
    assert not any(run.sampling.searched for name, run in runs.items() if name != "metric_searched_2")
    runs = config.experiments["latents"].runs
    assert list(runs) == ["ar", "metric", "ar_guidance_2"]
    assert runs["ar_guidance_2"].sampling.guidance == 2.0


def test_a_sweep_makes_all_combinations(tmp_path: Path) -> None:
    sweep = {"runs": ["metric"], "steps": [2, 8], "guidance": [0.0, 1.5]}
    runs = pixels(tmp_path, sweep=sweep, search=None).runs
    swept = [name for name, run in runs.items() if run.weights]
    assert swept == [f"metric_steps_{steps}_guidance_{scale}" for steps in (2, 8) for scale in ("0", "1_5")]
    one = runs["metric_steps_8_guidance_1_5"].sampling
    assert (one.steps, one.guidance, one.count) == (8, 1.5, 24)


def test_a_combination_that_the_run_itself_has_is_not_added(tmp_path: Path) -> None:
    own = {"mask_cubic": {"sampling": {"steps": 2}}}
    runs = pixels(tmp_path, sweep={"steps": [2, 4]}, search=None, runs=own).runs
    assert [name for name, run in runs.items() if run.weights] == ["mask_cubic_steps_4", "metric_steps_2"]


def test_a_configuration_that_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    config = loaded(tmp_path)
    write_config(tmp_path / "written.yaml", config)
    assert load_config(tmp_path / "written.yaml") == config


def test_codes_have_the_images_themselves_as_a_further_reference(tmp_path: Path) -> None:
    experiments = loaded(tmp_path).experiments
    assert experiments["pixels"].references == ["data", "independent"]
    assert experiments["latents"].references == ["images", "data", "independent"]
    assert experiments["board"].references == ["data", "independent"]


FRECHET = {"frechet_distance": {"features": TINY_FEATURES}}
UNET = {"name": "image_unet", "channels": 8, "multipliers": [1], "head_channels": 8, "attention": []}
LLAMA = {"name": "image_transformer", "width": 16, "depth": 1, "heads": 2}


@pytest.mark.parametrize(
    "experiment, changes, problem",
    [
        ("pixels", {"sweep": {"runs": ["metrik"], "steps": [2]}}, 'sweep.runs = "metrik": no run with a network'),
        (
            "pixels",
            {"runs": {"again": {"weights": "metric"}}, "sweep": {"runs": ["again"], "steps": [2]}},
            'sweep.runs = "again": no run with a network of its own',
        ),
        (
            "pixels",
            {"search": {"runs": ["metrik"], "steps": [2]}},
            "search.runs = \"metrik\": no run with a network of its own and a path; did you mean 'metric'?",
        ),
        (
            "latents",
            {"search": {"runs": ["ar"], "steps": [2]}},
            'search.runs = "ar": no run with a network of its own and a path',
        ),
        ("pixels", {"search": {"steps": []}}, "search.steps"),
        ("pixels", {"search": {"count": 1}}, "search.count = 1"),
        ("pixels", {"sweep": {"runs": [], "steps": [2]}}, "sweep.0.runs"),
        ("pixels", {"sweep": {"guidance": [-1.0]}}, "sweep.0.guidance"),
        (
            "board",
            {"search": {"runs": ["metric"], "steps": [2]}},
            "search: needs the metric frechet_distance; add it to `scoring`",
        ),
        (
            "pixels",
            {"model": {"conditional": False}, "sampling": {"guidance": 2.0}},
            "runs.metric.sampling.guidance = 2.0: the network is not told classes; set model.conditional: true",
        ),
        (
            "pixels",
            {"model": {"conditional": False}, "sweep": {"runs": ["metric"], "guidance": [3.0]}},
            "runs.metric_guidance_3.sampling.guidance = 3.0: the network is not told classes",
        ),
        (
            "board",
            {"runs": {"metric": {"sampling": {"guidance": 2.0}}}},
            "runs.metric.sampling.guidance = 2.0: the network is not told classes; choose a network for images that is",
        ),
        ("latents", {"tokenizer": None}, "tokenizer: required key is missing: the data are codes of images"),
        ("pixels", {"tokenizer": {}}, "tokenizer: the data are not codes of images; remove the key"),
        ("board", {"tokenizer": {}}, "tokenizer: the data are not codes of images; remove the key"),
        ("latents", {"tokenizer": {"loss": {"pixel": "l3"}}}, 'tokenizer.loss.pixel = "l3": not allowed'),
        ("latents", {"tokenizer": {"network": {"multipliers": []}}}, "tokenizer.network.multipliers"),
        ("latents", {"tokenizer": {"trainning": {}}}, "tokenizer.trainning"),
        ("latents", {"data": {"codes": 1}}, "data.codes = 1"),
        ("pixels", {"data": {"images": {"name": "digitz"}}}, "data.images: unknown"),
        ("pixels", {"data": {"images": {"tests": 3}}}, "data.images: digits.tests"),
        (
            "board",
            {"runs": {"metric": {"model": UNET}}},
            "runs.metric.model.name = \"image_unet\": a network for images, but the data are 'checkerboard'",
        ),
        ("board", {"model": LLAMA}, 'runs.metric.model.name = "image_transformer": a network for images, but the'),
        (
            "board",
            {"scoring": FRECHET},
            "scoring.frechet_distance: the data set 'checkerboard' is not one of images; remove it",
        ),
        ("pixels", {"scoring": {"frechet_distance": {"features": "incepton"}}}, "scoring.frechet_distance.features"),
        ("pixels", {"figure": {"name": "images", "row": 3}}, "figure.row"),
        ("pixels", {"paper": "tab:latent"}, 'paper = "tab:latent": unknown table'),
    ],
)
def test_what_does_not_go_together_is_refused_with_its_key(
    experiment: str, changes: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, {experiment: changes})
    assert f"experiments.{experiment}.{problem}" in str(error.value)


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({"model": UNET}, "model.name = \"image_unet\": a network for images, but the data are 'text'"),
        ({"scoring": FRECHET}, "scoring.frechet_distance: the data set 'text' is not one of images; remove it"),
    ],
)
def test_text_is_not_taken_for_images(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    (tmp_path / "text.yaml").write_text(yaml.safe_dump(TINY | {"experiments": {"text": merge(TINY_TEXT, changes)}}))
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path / "text.yaml")
    assert problem in str(error.value)


@pytest.mark.parametrize("ending", ["tokenizer", "sweeps", "path"])
def test_names_of_further_tables_are_not_free(ending: str, tmp_path: Path) -> None:
    (tmp_path / "taken.yaml").write_text(yaml.safe_dump(TINY | {"experiments": {f"a_{ending}": TINY_PIXELS}}))
    with pytest.raises(ConfigError, match=f"experiments.a_{ending}.*names that end in _{ending} are taken"):
        load_config(tmp_path / "taken.yaml")
