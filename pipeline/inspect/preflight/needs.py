"""What the parts of an experiment need besides what the workflow makes itself."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config import Config, Crystals, Experiment, Run
from pipeline.config.plugins import DATASETS, METRICS, files_needed, hub_needed, inputs_needed
from pipeline.store.code import constant_of

Part = tuple[str, str]  # an experiment, and one of data, hull, tokenizer, training, sampling, scoring


@dataclass(frozen=True)
class Need:
    """What one part of an experiment needs, and which key of the configuration says so.

    `fetched` are names in the catalogue, `own` files and folders of the user, `hub` names on the Hugging Face Hub.
    """

    part: Part
    key: str
    fetched: tuple[str, ...] = ()
    own: tuple[Path, ...] = ()
    hub: tuple[str, ...] = ()
    gpus: int = 0
    nodes: int = 1


def needs_of(config: Config, parts: set[Part] | None = None) -> list[Need]:
    """Return what the experiments need, or only what some `parts` of them do."""
    found = [need for name, experiment in config.experiments.items() for need in _needs(name, experiment)]
    return [need for need in found if parts is None or need.part in parts]


def _needs(name: str, experiment: Experiment) -> Iterator[Need]:
    at, data = f"experiments.{name}", experiment.data
    yield _of_plugin((name, "data"), f"{at}.data", DATASETS.load(data.name), DATASETS.options(data.name, data.options))
    if experiment.crystals:
        yield _hull((name, "hull"), f"{at}.crystals.hull", experiment.crystals)
    if experiment.tokenizer:
        files, gpus = experiment.tokenizer.loss.files, experiment.tokenizer.training.resources.gpus
        yield Need((name, "tokenizer"), f"{at}.tokenizer.loss.perceptual", tuple(files))
        yield Need((name, "tokenizer"), f"{at}.tokenizer.training.resources.gpus", gpus=gpus)
        nodes = experiment.tokenizer.training.resources.nodes
        yield Need((name, "tokenizer"), f"{at}.tokenizer.training.resources.nodes", nodes=nodes)
    trained = {run: block for run, block in experiment.runs.items() if not block.weights}
    yield _gpus((name, "training"), at, trained, lambda run: run.training.resources.gpus)
    for run, block in trained.items():
        yield Need(
            (name, "training"), f"{at}.runs.{run}.training.resources.nodes", nodes=block.training.resources.nodes
        )
    yield _gpus((name, "sampling"), at, experiment.runs, lambda run: run.sampling.resources.gpus)
    for metric, values in experiment.scoring.items():
        options = METRICS.options(metric, values)
        yield _of_plugin((name, "scoring"), f"{at}.scoring.{metric}", METRICS.load(metric), options)
    yield Need((name, "scoring"), f"{at}.scoring_resources.gpus", gpus=experiment.scoring_resources.gpus)


def _of_plugin(part: Part, key: str, module: Any, options: Any) -> Need:
    own, hub = inputs_needed(module, options), hub_needed(module, options)
    return Need(part, key, tuple(files_needed(module, options)), tuple(own), tuple(hub))


def _hull(part: Part, key: str, crystals: Crystals) -> Need:
    if crystals.hull is not None:
        return Need(part, key, own=(Path(crystals.hull),))
    published: Any = constant_of("pipeline.crystals.hull", "FILES", ())
    return Need(part, key, tuple(published))


def _gpus(part: Part, at: str, runs: Mapping[str, Run], gpus_of: Callable[[Run], int]) -> Need:
    """Return the most GPUs that a job of a run asks for."""
    most = max(runs, key=lambda name: gpus_of(runs[name]))
    return Need(part, f"{at}.runs.{most}.{part[1]}.resources.gpus", gpus=gpus_of(runs[most]))
