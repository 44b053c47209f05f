"""The part of the configuration that each stage depends on, as text.

The rules of the workflow have it as a parameter, so that a change of the configuration runs again what depends on it
and nothing else. What earlier stages depend on is left out: it changes the files that they make. Demands on the machine
are left out: they change nothing.
"""

import json
from typing import Any

from pipeline.config import Config, Run


def prepare_slice(config: Config, experiment: str) -> str:
    """Return what the tokens of an experiment depend on."""
    return _text(seed=config.seed, data=config.experiments[experiment].data.model_dump(mode="json"))


def train_slice(config: Config, experiment: str, run: str) -> str:
    """Return what the weights of a run depend on."""
    chosen = _run(config, experiment, run)
    kept = {"seed", "path", "loss", "model", "training"}
    return _text(
        **chosen.model_dump(mode="json", include=kept, exclude={"training": {"resources", "checkpoint_every"}})
    )


def sample_slice(config: Config, experiment: str, run: str) -> str:
    """Return what the samples of a run depend on besides its weights."""
    chosen = _run(config, experiment, run)
    excluded = {"sampling": {"resources", "shards"}}
    return _text(**chosen.model_dump(mode="json", include={"seed", "sampling"}, exclude=excluded))


def describe_slice(config: Config, experiment: str) -> str:
    """Return what the descriptions of crystals depend on besides the crystals."""
    crystals = config.experiments[experiment].crystals
    return _text(seconds=crystals.seconds if crystals else None)


def relax_slice(config: Config, experiment: str) -> str:
    """Return what relaxed crystals depend on besides the crystals."""
    crystals = config.experiments[experiment].crystals
    excluded = {"workers", "shards", "resources"}
    return _text(relaxation=crystals.relaxation.model_dump(mode="json", exclude=excluded) if crystals else None)


def hull_slice(config: Config, experiment: str) -> str:
    """Return what the hull of an experiment depends on besides its structures."""
    crystals = config.experiments[experiment].crystals
    return _text(hull=crystals.hull if crystals else None)


def calibrate_slice(config: Config, experiment: str) -> str:
    """Return what the calibration of an experiment depends on besides its structures and hull."""
    crystals = config.experiments[experiment].crystals
    chosen = crystals.model_dump(mode="json", include={"calibration", "seconds"}) if crystals else None
    return _text(seed=config.seed, crystals=chosen)


def reference_slice(config: Config, experiment: str) -> str:
    """Return what the reference samples of an experiment depend on besides its tokens."""
    return _text(seed=config.seed, count=config.experiments[experiment].sampling.count)


def score_slice(config: Config, experiment: str) -> str:
    """Return what the scores of an experiment depend on besides the samples."""
    return _text(scoring=config.experiments[experiment].scoring)


def report_slice(config: Config, experiment: str) -> str:
    """Return what the table and the figure of an experiment depend on besides scores and samples."""
    chosen = config.experiments[experiment]
    figure = chosen.figure.model_dump(mode="json") if chosen.figure else None
    return _text(runs=list(chosen.runs), references=chosen.references, paper=chosen.paper, figure=figure)


def _run(config: Config, experiment: str, run: str) -> Run:
    return config.experiments[experiment].runs[run]


def _text(**values: Any) -> str:
    return json.dumps(values, sort_keys=True)
