"""What each stage depends on: a change of it changes the stage's slice, and no other change does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import TINY_MATERIALS

from pipeline import slices
from pipeline.config.loading import load_config, parse_setting

STAGES: dict[str, Callable[..., str]] = {
    "describe": slices.describe_slice,
    "relax": slices.relax_slice,
    "hull": slices.hull_slice,
    "calibrate": slices.calibrate_slice,
    "score": slices.score_slice,
    "report": slices.report_slice,
}
CHANGES = {
    "crystals.seconds=7": {"describe", "calibrate"},
    "crystals.workers=2": set(),
    "crystals.relaxation.count=9": {"relax"},
    "crystals.relaxation.steps=9": {"relax"},
    "crystals.relaxation.force=0.5": {"relax"},
    "crystals.relaxation.shards=9": set(),
    "crystals.relaxation.resources.minutes=9": set(),
    "crystals.hull=other.json": {"hull"},
    "crystals.calibration=9": {"calibrate"},
    "scoring.crystal_coverage.structure_cutoff=0.2": {"score"},
    "paper=null": {"report"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_one_of_the_stages_that_depend_on_it(change: str, tiny_file: Callable[..., Path]) -> None:
    experiments: dict[str, Any] = {"materials": TINY_MATERIALS}
    path = tiny_file({"experiments": experiments})
    before = load_config(path)
    after = load_config(path, [parse_setting(f"experiments.materials.{change}")])
    changed = {name for name, part in STAGES.items() if part(before, "materials") != part(after, "materials")}
    assert changed == CHANGES[change]
