"""What a stage of DVC depends on in the configuration is at least what its rules do."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from dvc.repo import Repo
from project import ROOT

from pipeline import slices
from pipeline.config import Config
from pipeline.config.loading import load_config, read_yaml, with_numbers
from pipeline.config.problems import ConfigError

RAW = with_numbers(read_yaml(ROOT / "config/demo.yaml"))
Key = tuple[str, ...]


def numbers_of(value: Any, at: Key = ()) -> Iterator[Key]:
    """Yield the keys of all numbers of the configuration."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers_of(inner, (*at, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield at


def slice_of(config: Config, stage: str) -> dict[str, str]:
    """Return what the rules of a stage depend on in a configuration, besides the files of earlier stages."""
    kind, _, item = stage.partition("@")
    kind, _, name = kind.rpartition("_")
    if name == "images":
        name = item
    of = (config, name)
    if kind in ("train", "sample", "sweep", "search"):
        found = {"train": slices.train_slice} if kind == "train" else {"sample": slices.sample_slice}
        found |= {"search": slices.search_slice} if kind == "search" else {}
        return {key: take(*of, item) for key, take in found.items()}
    stages: dict[str, tuple[Any, ...]] = {
        "prepare": (slices.prepare_slice,),
        "classify": (slices.classifier_slice, slices.features_slice),
        "tokenizer": (slices.tokenizer_slice,),
        "reference": (slices.reference_slice,),
        "hull": (slices.hull_slice, slices.describe_slice, slices.calibrate_slice),
        "structures": (slices.describe_slice, slices.relax_slice),
        "structures_reference": (slices.describe_slice, slices.relax_slice),
        "report": (slices.report_slice, slices.sweeps_slice, slices.paths_slice),
    }
    if stage.startswith("prepare_images"):
        return {"images": slices.images_slice(*of)}
    if kind.startswith("score"):
        return {"score": slices.score_slice(*of)}
    taken = {take.__name__: take(*of) for take in stages.get(kind, ())}
    if kind == "report" and name not in ("pixels", "latents"):
        taken = {"report_slice": taken["report_slice"]}
    if stage == "report_latents":
        taken["tokenizer_report"] = slices.score_slice(*of)
    return taken


@pytest.fixture(scope="module")
def keys_of_stages() -> dict[str, list[str]]:
    """Return the keys that each stage of DVC depends on."""
    stages = Repo(str(ROOT)).index.stages
    return {stage.name: [key for dep in stage.deps for key in getattr(dep, "params", ())] for stage in stages}


def test_a_number_that_changes_what_a_rule_does_runs_its_stage_again(
    keys_of_stages: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, tried = tmp_path_factory.mktemp("changed"), 0
    config = load_config(ROOT / "config/demo.yaml", choices=False)
    before = {stage: slice_of(config, stage) for stage in keys_of_stages}
    for key in numbers_of(RAW):
        raw = copy.deepcopy(RAW)
        block = raw
        for part in key[:-1]:
            block = block[part]
        block[key[-1]] += 1
        (folder / "demo.yaml").write_text(yaml.safe_dump(raw, sort_keys=False))
        try:
            after = load_config(folder / "demo.yaml", choices=False)
        except ConfigError:
            continue  # such as a share of more than one
        tried += 1
        changed = ".".join(key)
        for stage, keys in keys_of_stages.items():
            if (key[0] == "seed" or key[1] in stage or "images" in stage) and before[stage] != slice_of(after, stage):
                assert any(f"{changed}.".startswith(f"{known}.") for known in keys), f"{stage}: {changed}"
    assert tried > 60


@pytest.mark.parametrize(
    ("key", "stages"),
    [
        (
            "experiments.text.runs.mask_ko.training.learning_rate",
            {"train_text@mask_ko", "sample_text@mask_ko", "sweep_text@mask_ko_steps_16", "report_text"},
        ),
        (
            "experiments.checkerboard.runs.metric.training.learning_rate",
            {"train_checkerboard@metric", "sample_checkerboard@metric", "report_checkerboard"},
        ),
    ],
)
def test_a_learning_rate_of_one_run_concerns_the_stages_of_that_run_and_the_table(
    key: str, stages: set[str], keys_of_stages: dict[str, list[str]]
) -> None:
    concerned = {stage for stage, keys in keys_of_stages.items() if any(key.startswith(f"{known}.") for known in keys)}
    assert concerned - {"code"} == stages
