"""A copy of the project with one small configuration of all experiments, long enough to be interrupted."""

from pathlib import Path
from typing import Any

import yaml
from project import ROOT, Project
from tiny import TINY, TINY_LATENTS, TINY_MATERIALS, TINY_PIXELS, TINY_TEXT, write_rhymes, write_salts

from pipeline.config.loading import merge

SCALE = "cluster"
INTERRUPTED_TRAINING = {"steps": 4000, "checkpoint_every": 100, "validate_every": 1000, "log_every": 500}
INTERRUPTED_RELAXATION = {"count": 6, "shards": 2, "steps": 25, "force": 0.0001}


def _with_runs(experiment: dict[str, Any], *runs: str, **changes: Any) -> dict[str, Any]:
    """Return an experiment with these runs only, without sweeps and search, and with changes."""
    kept = experiment | {"runs": {run: experiment["runs"][run] for run in runs}}
    return merge({key: value for key, value in kept.items() if key not in ("sweep", "search")}, changes)


def configuration() -> dict[str, Any]:
    """Return the checkerboard, crystals, text, pixels and codes, a run each."""
    return TINY | {
        "scale": SCALE,
        "experiments": {
            "checkerboard": _with_runs(
                TINY["experiments"]["checkerboard"], "mask_linear", training=INTERRUPTED_TRAINING
            ),
            "materials": _with_runs(
                TINY_MATERIALS,
                "ar",
                sampling={"count": 6, "block": 3},
                crystals={"relaxation": INTERRUPTED_RELAXATION},
            ),
            "text": _with_runs(TINY_TEXT, "ar"),
            "pixels": _with_runs(TINY_PIXELS, "metric"),
            "latents": _with_runs(TINY_LATENTS, "metric"),
        },
    }


def copy_to(folder: Path) -> Project:
    """Copy the workflow, and write the configuration and the data that it reads."""
    project = Project.copy_to(folder)
    (folder / "slurm").symlink_to((ROOT / "slurm").readlink())
    write_salts(folder)
    write_rhymes(folder)
    (folder / f"config/{SCALE}.yaml").write_text(yaml.safe_dump(configuration()))
    return project
