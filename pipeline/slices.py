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
    data = config.experiments[experiment].data.model_dump(mode="json")
    return _text(seed=config.seed, data=data | ({"images": _images(data["images"])} if "images" in data else {}))


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


def images_slice(config: Config, experiment: str) -> str:
    """Return what the images of an experiment depend on."""
    return _text(seed=config.seed, images=_images(config.experiments[experiment].data.options["images"]))


def tokenizer_slice(config: Config, experiment: str) -> str:
    """Return what the tokenizer of an experiment depends on besides its images."""
    chosen = config.experiments[experiment]
    excluded = {"training": {"resources", "checkpoint_every"}}
    tokenizer = chosen.tokenizer.model_dump(mode="json", exclude=excluded) if chosen.tokenizer else None
    return _text(seed=config.seed, codes=chosen.data.options.get("codes"), tokenizer=tokenizer)


def classifier_slice(config: Config, experiment: str) -> str:
    """Return what the classifier whose features images are compared by depends on besides these."""
    return _text(seed=config.seed, features=_comparison(config, experiment).get("features"))


def features_slice(config: Config, experiment: str) -> str:
    """Return what the features of the images that samples are compared with depend on besides these."""
    comparison = _comparison(config, experiment)
    return _text(seed=config.seed, **{key: comparison.get(key) for key in ("features", "compared")})


def search_slice(config: Config, experiment: str, run: str) -> str:
    """Return what the search for a run's velocity depends on besides its weights."""
    chosen, block = _run(config, experiment, run), config.experiments[experiment]
    excluded = {"shards", "resources", "count", "frames"}
    return _text(
        seed=chosen.seed,
        search=block.search.model_dump(mode="json", exclude={"runs", "steps"}) if block.search else None,
        sampling=chosen.sampling.model_dump(mode="json", exclude=excluded),
        features=_comparison(config, experiment).get("features"),
    )


def paths_slice(config: Config, experiment: str) -> str:
    """Return what the figure of an experiment's paths depends on besides its tokens."""
    runs = config.experiments[experiment].runs.items()
    trained = {name: run for name, run in runs if run.path and not run.weights}
    return _text(
        seed=config.seed, paths={name: run.path.model_dump(mode="json") for name, run in trained.items() if run.path}
    )


def sweeps_slice(config: Config, experiment: str) -> str:
    """Return what the table of an experiment's sweeps depends on besides scores."""
    chosen = config.experiments[experiment]
    return _text(runs=list(chosen.runs), paper=chosen.paper)


def report_slice(config: Config, experiment: str) -> str:
    """Return what the table and the figure of an experiment depend on besides scores and samples."""
    chosen = config.experiments[experiment]
    figure = chosen.figure.model_dump(mode="json") if chosen.figure else None
    return _text(runs=list(chosen.runs), references=chosen.references, paper=chosen.paper, figure=figure)


def _comparison(config: Config, experiment: str) -> dict[str, Any]:
    """Return how images are compared, as far as it is said."""
    return config.experiments[experiment].scoring.get("frechet_distance", {})


def _images(choice: Any) -> Any:
    """Return a set of images without how many threads read it."""
    return {key: value for key, value in choice.items() if key != "workers"} if isinstance(choice, dict) else choice


def _run(config: Config, experiment: str, run: str) -> Run:
    return config.experiments[experiment].runs[run]


def _text(**values: Any) -> str:
    return json.dumps(values, sort_keys=True)
