"""Checks of what a configuration chooses for images: tokenizers, networks, guidance, sweeps and searches."""

from typing import Any

from pipeline.config.plugins import DATASETS, METRICS, MODELS
from pipeline.config.problems import Problem
from pipeline.errors import did_you_mean

Key = tuple[str, ...]
METRIC = "frechet_distance"


def problems_of_images(experiment: dict[str, Any], at: Key) -> list[Problem]:
    """Return what does not go together in an experiment, of images or not; malformed parts are passed over."""
    data = _name(experiment.get("data"))
    if data not in DATASETS.names():
        return []
    module, runs = DATASETS.load(str(data)), experiment.get("runs")
    runs = runs if isinstance(runs, dict) else {}
    problems = _check_tokenizer(experiment, module.CODES, at)
    images = module.IMAGES
    scoring = experiment.get("scoring")
    if not images and isinstance(scoring, dict) and METRIC in scoring:
        problems.append(
            Problem((*at, "scoring", METRIC), None, f"the data set {data!r} is not one of images; remove it")
        )
    for name, run in runs.items():
        if isinstance(run, dict):
            problems += _check_network(run, images, str(data), (*at, "runs", str(name)))
    return problems + _check_named_runs(experiment, runs, at) + _check_search(experiment, at)


def _check_tokenizer(experiment: dict[str, Any], codes: bool, at: Key) -> list[Problem]:
    if codes == (experiment.get("tokenizer") is not None):
        return []
    missing = "required key is missing: the data are codes of images; {} takes the defaults"
    return [Problem((*at, "tokenizer"), None, missing if codes else "the data are no codes of images; remove the key")]


def _check_network(run: dict[str, Any], images: bool, data: str, at: Key) -> list[Problem]:
    """Return a problem if a network for images has none, or one that is not told classes is to be guided by them."""
    model = run.get("model")
    name = _name(model)
    if name not in MODELS.names() or not isinstance(model, dict):
        return []
    module = MODELS.load(str(name))
    if module.takes("grid") and not images:
        return [
            Problem((*at, "model", "name"), name, f"a network for images, but the data are {data!r}; choose another")
        ]
    field = module.Options.model_fields.get("conditional")
    told = model.get("conditional", field.default if field else False)
    sampling = run.get("sampling")
    guidance = sampling.get("guidance", 1) if isinstance(sampling, dict) else 1
    if told or guidance == 1:
        return []
    fix = "set model.conditional: true" if field else "choose a network for images that is"
    return [
        Problem((*at, "sampling", "guidance"), guidance, f"the network is not told classes; {fix}, or leave it at 1")
    ]


def _check_named_runs(experiment: dict[str, Any], runs: dict[str, Any], at: Key) -> list[Problem]:
    """Return a problem for each run that a sweep or a search names and that is not there, or has no network or path."""
    sweeps, search = experiment.get("sweep"), experiment.get("search")
    blocks = [((*at, "sweep", "runs"), sweep) for sweep in (sweeps if isinstance(sweeps, list | tuple) else ())]
    blocks.append(((*at, "search", "runs"), search))
    able = [name for name, run in runs.items() if isinstance(run, dict) and not run.get("weights")]
    with_path = [name for name in able if runs[name].get("path") is not None]
    problems = []
    for key, block in blocks:
        allowed = with_path if key[-2] == "search" else able
        names = block.get("runs") if isinstance(block, dict) else None
        for name in names if isinstance(names, list | tuple) else ():
            if name not in allowed:
                what = "no run with a network of its own" + (" and a path" if key[-2] == "search" else "")
                problems.append(Problem(key, name, f"{what}; {did_you_mean(str(name), allowed)}"))
    return problems


def _check_search(experiment: dict[str, Any], at: Key) -> list[Problem]:
    scoring = experiment.get("scoring")
    if experiment.get("search") is None or not isinstance(scoring, dict) or METRIC in scoring:
        return []
    assert METRIC in METRICS.names(), "the metric that a search goes by is a file in pipeline/metrics"
    return [Problem((*at, "search"), None, f"goes by the metric {METRIC}, which `scoring` has not; add it there")]


def _name(block: Any) -> Any:
    return block.get("name") if isinstance(block, dict) else block
