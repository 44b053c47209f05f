"""Which predictions of structures an experiment makes, and what all of them depend on."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pipeline.config import PREDICTED, Prediction
from pipeline.errors import KinoflowError
from pipeline.stages.job import Job
from pipeline.store.seeds import derive_seed


def predicts(job: Job) -> bool:
    """Return whether structure prediction is measured."""
    return job.block.crystals is not None and job.block.crystals.prediction is not None


def prediction_of(job: Job) -> Prediction:
    """Return the configuration of structure prediction; an experiment without any is an error."""
    if job.crystals.prediction is None:
        raise KinoflowError(f"experiments.{job.experiment}.crystals.prediction is null; {{}} takes the defaults")
    return job.crystals.prediction


def runs_that_predict(job: Job) -> Iterator[Job]:
    """Yield a job for each run that predicts structures: those with a path, or those of them that are named."""
    for one in job.runs() if predicts(job) else ():
        named = prediction_of(job).runs
        if one.run.path is not None and (named is None or one.name in named):
            yield one


def without_network(job: Job) -> Iterator[Job]:
    """Yield a job for each prediction that is made without a network."""
    yield from (replace(job, name=name) for name in PREDICTED if predicts(job))


def all_predictions(job: Job) -> Iterator[Job]:
    """Yield a job for each row of the table: the runs, then what is made without a network."""
    yield from runs_that_predict(job)
    yield from without_network(job)


def common_settings(job: Job) -> dict[str, Any]:
    """Return what all predictions depend on: which compositions are given, and how often."""
    return {"seed": job.config.seed} | prediction_of(job).model_dump(include={"compositions", "samples", "split"})


def common_seed(job: Job) -> int:
    """Return the seed by which test structures are drawn: all predictions are of the same ones."""
    return derive_seed(job.config.seed, job.experiment, "prediction")
