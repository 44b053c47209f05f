"""What the configuration of a job chooses by name: the modules it runs, and the files they need."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.config import VelocityChoice
from pipeline.config.plugins import DATASETS, METRICS, MODELS, files_needed, hub_needed, inputs_needed
from pipeline.stages.declaration import Need
from pipeline.stages.job import Job
from pipeline.store.code import modules_named


def data_modules(job: Job) -> list[str]:
    """Return the module of the data set, and those that its options choose."""
    return [DATASETS.module(job.block.data.name), *_further(*job.data)]


def metric_modules(job: Job) -> list[str]:
    """Return the modules of the metrics, and those that their options choose."""
    return [*map(METRICS.module, job.block.scoring), *metric_choices(job)]


def metric_choices(job: Job) -> list[str]:
    """Return the modules that the options of the metrics choose, such as the features of images."""
    return [name for metric, options in job.metrics for name in _further(metric, options)]


def path_modules(job: Job) -> list[str]:
    """Return the modules of the path and loss of a run; none for a reference."""
    return modules_named(job.run.path, job.run.loss) if job.is_run else []


def network_modules(job: Job, *velocities: VelocityChoice) -> list[str]:
    """Return the modules of the network, path and loss of a run, and of velocities."""
    return [MODELS.module(job.run.model.name), *path_modules(job), *modules_named(*velocities)]


def searched_velocities(job: Job) -> tuple[VelocityChoice, ...]:
    """Return the velocities that the search of an experiment chooses from."""
    return job.block.search.velocity if job.block.search else ()


def data_needs(job: Job) -> Iterator[Need]:
    """Yield what the data set is made from."""
    yield _need(f"experiments.{job.experiment}.data", *job.data)


def metric_needs(job: Job) -> Iterator[Need]:
    """Yield what the metrics measure with."""
    for name, (metric, options) in zip(job.block.scoring, job.metrics, strict=True):
        yield _need(f"experiments.{job.experiment}.scoring.{name}", metric, options)


def metric_files(job: Job) -> list[Path]:
    """Return the files that the metrics measure with: fetched ones, and the user's own."""
    needs = list(metric_needs(job))
    return [job.cache / name for need in needs for name in need.fetched] + [path for need in needs for path in need.own]


def judging_run(job: Job) -> str | None:
    """Return the run whose network judges the samples of the others; None: none does."""
    return next((run for run in _judges(job) if run is not None), None)


def is_judged_from_outside(job: Job) -> bool:
    """Return whether a language model that is no run of the experiment judges the samples."""
    return any(run is None for run in _judges(job))


def trains_classifier(job: Job) -> bool:
    """Return whether the workflow trains the classifier that images are compared by."""
    return any(
        metric.classifier_of(options) for metric, options in job.metrics if getattr(metric, "classifier_of", None)
    )


def _judges(job: Job) -> list[str | None]:
    return [metric.run_of(options) for metric, options in job.metrics if getattr(metric, "run_of", None)]


def _need(key: str, module: Any, options: Any) -> Need:
    own, hub = inputs_needed(module, options), hub_needed(module, options)
    return Need(key, tuple(files_needed(module, options)), tuple(own), tuple(hub))


def _further(module: Any, options: Any) -> list[str]:
    return list(module.modules(options)) if getattr(module, "modules", None) else []
