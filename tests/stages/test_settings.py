"""What each stage depends on: a change of it changes the stage's settings, and no other change does."""

from functools import cache
from typing import Any

import pytest
from tiny import TINY_LATENTS, TINY_MATERIALS, TINY_PIXELS

from pipeline.config import Config
from pipeline.config.loading import merge, parse_setting, with_complete_runs
from pipeline.config.problems import problems_of
from pipeline.stages import load_stages
from pipeline.stages.job import Job

EXPERIMENTS = {"materials": TINY_MATERIALS, "pixels": TINY_PIXELS, "latents": TINY_LATENTS}
CHANGES: dict[str, set[str]] = {
    "materials.crystals.seconds=7": {"describe", "assess", "calibrate", "protocols"},
    "materials.crystals.workers=2": set(),
    "materials.crystals.relaxation.count=9": {"relax"},
    "materials.crystals.relaxation.steps=9": {"relax"},
    "materials.crystals.relaxation.force=0.5": {"relax"},
    "materials.crystals.relaxation.patience=9": {"relax"},
    "materials.crystals.relaxation.shards=9": {"gather_relaxed"},  # there is something to join
    "materials.crystals.relaxation.resources.gpus=1": set(),
    "materials.crystals.relaxation.resources.minutes=9": set(),
    "materials.crystals.energy_model=sevennet": {"relax", "calibrate", "assess"},
    "materials.crystals.judges=[sevennet]": {"judge_energies", "calibrate", "assess"},
    "materials.crystals.hull=other.json": {"hull"},
    "materials.crystals.calibration=9": {"calibrate"},
    "materials.crystals.prediction.compositions=9": {"predict", "prediction_reference", "match_predictions"},
    "materials.crystals.prediction.samples=9": {
        "predict",
        "prediction_reference",
        "match_predictions",
        "prediction_table",
    },
    "materials.crystals.prediction.seconds=9": {"match_predictions"},
    "materials.scoring.crystal_coverage.structure_cutoff=0.2": {"score"},
    "materials.paper=null": {"table"},
    "materials.figure={name: crystals, dpi: 50}": {"figure"},
    "materials.training.steps=9": {"train"},
    "materials.training.learning_rate=0.5": {"train"},
    "materials.training.checkpoint_every=9": set(),
    "materials.training.resources.minutes=9": set(),
    "materials.sampling.steps=9": {"sample", "predict", "prediction_table"},
    "materials.sampling.count=9": {"sample", "reference"},
    "materials.sampling.shards=9": {"gather"},
    "materials.data.max_atoms=5": {"prepare"},
    "pixels.data.images.test=20": {"prepare_images", "prepare_pixels"},
    "pixels.search.count=9": {"search"},
    "pixels.scoring.frechet_distance.compared=99": {"score", "image_reference"},
    "pixels.scoring.frechet_distance.features.width=16": {"score", "image_reference", "train_classifier", "search"},
    "pixels.runs.metric.path.c=4": {"train", "conditional_path"},
    "latents.tokenizer.loss.commitment=0.5": {"train_tokenizer"},
    "latents.tokenizer.training.steps=9": {"train_tokenizer"},
    "latents.tokenizer.training.resources.minutes=9": set(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_one_of_the_stages_that_depend_on_it(change: str) -> None:
    experiment, _ = change.split(".", 1)
    before, after = settings(experiment), settings(experiment, f"experiments.{change}")
    assert {name for name, said in before.items() if after[name] != said} == CHANGES[change]


@cache
def settings(experiment: str, *changes: str) -> dict[str, list[str]]:
    """Return the settings of all jobs of an experiment, by stage."""
    values: dict[str, Any] = {"scale": "tiny", "experiments": {experiment: EXPERIMENTS[experiment]}}
    for change in map(parse_setting, changes):
        values = merge(values, change)
    config, problems = problems_of(Config, with_complete_runs(values))
    assert config is not None, problems
    job = Job(config, experiment)
    return {name: [stage.settings_text(one) for one, _ in stage.jobs(job)] for name, stage in load_stages().items()}
