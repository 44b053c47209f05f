"""The jobs of the workflow: how many of each rule an experiment takes, and the files that are fetched for it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.config import Config, Experiment
from pipeline.config.plugins import DATASETS, METRICS, files_needed
from pipeline.store.code import constant_of


def jobs_of(experiment: Experiment) -> Counter[str]:
    """Return how many jobs of each rule an experiment takes, but for fetching, if nothing of it is done yet."""
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
        figure=experiment.figure is not None,
    )
    data, metrics = DATASETS.load(experiment.data.name), [metric for metric, _ in metrics_of(experiment)]
    if experiment.crystals:
        jobs.update(dict.fromkeys(("decode", "describe", "gather_relaxed", "assess"), names))
        jobs.update(["prepare_crystals", "describe_test", "hull", "calibrate"])
        jobs["relax"] = names * experiment.crystals.relaxation.shards
    elif getattr(data, "IMAGES", False):
        jobs.update({"pictures": names, "search": sum(run.sampling.searched for run in runs)})
        jobs.update(["prepare_images", "image_reference", "conditional_path", "sweeps"])
        jobs.update(["train_tokenizer", "encode", "tokenizer_report"] if experiment.tokenizer else ["prepare_pixels"])
        jobs.update(["train_classifier"] if trains_classifier(experiment) else [])
    else:
        jobs.update(["prepare"])
    if getattr(data, "TEXT", False):
        jobs["texts"] = names
    if any(hasattr(metric, "run_of") for metric in metrics) and judging_run(experiment) is None:
        jobs["judge"] = 1
    return +jobs  # without those that are not planned


def fetched_files(config: Config) -> list[str]:
    """Return the names in the catalogue of the files that the workflow would fetch: those that the cache has not."""
    needed = dict.fromkeys(name for experiment in config.experiments.values() for name in files_of(experiment))
    return [name for name in needed if not (Path(config.data.cache) / name).is_file()]


def files_of(experiment: Experiment) -> Iterator[str]:
    """Yield the names in the catalogue of all files that an experiment needs."""
    choice = experiment.data
    yield from files_needed(DATASETS.load(choice.name), DATASETS.options(choice.name, choice.options))
    for metric, options in metrics_of(experiment):
        yield from files_needed(metric, options)
    yield from experiment.tokenizer.loss.files if experiment.tokenizer else ()
    if experiment.crystals and not experiment.crystals.hull:
        published: Any = constant_of("pipeline.crystals.hull", "FILES", ())
        yield from published


def metrics_of(experiment: Experiment) -> list[tuple[Any, Any]]:
    """Return the modules and options of an experiment's metrics."""
    return [(METRICS.load(name), METRICS.options(name, options)) for name, options in experiment.scoring.items()]


def trains_classifier(experiment: Experiment) -> bool:
    """Return whether the workflow trains the classifier that images are compared by."""
    metrics = metrics_of(experiment)
    return any(hasattr(metric, "classifier_of") and metric.classifier_of(options) for metric, options in metrics)


def judging_run(experiment: Experiment) -> str | None:
    """Return the run of an experiment that judges its texts; None: none does."""
    runs = [metric.run_of(options) for metric, options in metrics_of(experiment) if hasattr(metric, "run_of")]
    return runs[0] if runs else None
