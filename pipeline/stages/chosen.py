"""What the configuration of a job says and chooses by name: the modules it runs, and the files they need.

What several stages ask stands here: a stage that imports another would depend on all code of that one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.config import VelocityChoice
from pipeline.config.contracts import JudgedMetricPlugin
from pipeline.config.plugins import METRICS, MODELS, Chosen
from pipeline.stages.declaration import Need
from pipeline.stages.job import Job
from pipeline.store.code import modules_named


def data_modules(job: Job) -> list[str]:
    """Return the module of the data set, and those that its options choose."""
    return job.data.modules


def metric_modules(job: Job) -> list[str]:
    """Return the modules of the metrics, and those that their options choose."""
    return [*map(METRICS.module, job.block.scoring), *metric_choices(job)]


def metric_choices(job: Job) -> list[str]:
    """Return the modules that the options of the metrics choose, such as the features of images."""
    return [name for metric in job.metrics for name in metric.modules[1:]]


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
    yield _need(f"experiments.{job.experiment}.data", job.data)


def metric_needs(job: Job) -> Iterator[Need]:
    """Yield what the metrics measure with."""
    for metric in job.metrics:
        yield _need(f"experiments.{job.experiment}.scoring.{metric.name}", metric)


def files_of(job: Job, *chosen: Chosen[Any]) -> list[Path]:
    """Return the files that plugins read: fetched ones, and the user's own."""
    fetched = [job.cache / name for one in chosen for name in one.files]
    return fetched + [path for one in chosen for path in one.inputs]


def of_crystals(job: Job) -> bool:
    """Return whether the experiment is on crystals."""
    return job.block.crystals is not None


def of_codes(job: Job) -> bool:
    """Return whether a tokenizer makes the tokens of the experiment."""
    return job.block.tokenizer is not None


def scoring_settings(job: Job) -> dict[str, Any]:
    """Return what scores depend on besides the samples."""
    return {"scoring": job.block.scoring}


def description_settings(job: Job) -> dict[str, Any]:
    """Return what descriptions of crystals depend on besides the crystals."""
    return {"seconds": job.crystals.seconds}


def comparison(job: Job, *keys: str) -> dict[str, Any]:
    """Return the configured options for comparing images; None for an option that is not set."""
    said = job.block.scoring.get("frechet_distance", {})
    return {key: said.get(key) for key in keys}


def without_threads(images: Any) -> Any:
    """Return a choice of images without its number of threads: they do not change the images."""
    return {key: value for key, value in images.items() if key != "workers"} if isinstance(images, dict) else images


def judging_run(job: Job) -> str | None:
    """Return the run whose network judges the samples of the others; None: no run does."""
    return next((run for run in _judges(job) if run is not None), None)


def is_judged_from_outside(job: Job) -> bool:
    """Return whether the judge is a language model from outside the experiment."""
    return any(run is None for run in _judges(job))


def trains_classifier(job: Job) -> bool:
    """Return whether the workflow trains a classifier to compare images."""
    return any(metric.plugin.classifier_of(metric.options) for metric in job.metrics)


def _judges(job: Job) -> list[str | None]:
    judged = [(metric.plugin, metric.options) for metric in job.metrics]
    return [plugin.run_of(options) for plugin, options in judged if isinstance(plugin, JudgedMetricPlugin)]


def _need(key: str, chosen: Chosen[Any]) -> Need:
    return Need(key, tuple(chosen.files), tuple(chosen.inputs), tuple(chosen.hub_names))
