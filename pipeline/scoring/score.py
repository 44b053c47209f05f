"""All metrics of an experiment in one flat dictionary, and how they measured."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pipeline.config.plugins import METRICS
from pipeline.errors import KinoflowError
from pipeline.scoring.subject import Subject


def conditions_of_metrics(subject: Subject, scoring: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return how the metrics measured, such as which model judged."""
    conditions: dict[str, Any] = {}
    for name, options in scoring.items():
        conditions |= METRICS.load(name).conditions(subject, METRICS.options(name, options))
    return conditions


def score_subject(subject: Subject, scoring: Mapping[str, dict[str, Any]]) -> dict[str, float]:
    """Return the numbers of all metrics in `scoring`, which maps their names to options."""
    metrics: dict[str, float] = {}
    for name, options in scoring.items():
        score = partial(METRICS.load(name).score, subject, METRICS.options(name, options))
        scores: dict[str, float] = subject.once(name, score)
        if twice := metrics.keys() & scores.keys():
            raise KinoflowError(f"metric {name!r}: another one gives {', '.join(sorted(twice))} too; rename it")
        metrics |= scores
    return metrics
