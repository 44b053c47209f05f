"""A run to be scored, as a metric is given it, and all metrics of an experiment in one flat dictionary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from pipeline.config import Experiment
from pipeline.config.plugins import METRICS
from pipeline.errors import KinoflowError
from pipeline.networks.saved import SavedModel
from pipeline.sampling.samples import SampleSet
from pipeline.store.journal import Journal, Result
from pipeline.store.tensor_journal import TensorJournal
from pipeline.tokens.token_data import TokenData


@dataclass(frozen=True)
class Subject:
    """A run to be scored; a reference has samples but no network.

    `block` is the experiment's part of the configuration. `files` are what earlier stages made, by the flags of
    `score`: tables of crystals, pictures, the weights of a judge, and so on. A `swept` run uses the network of another
    run, where the network is scored. Fetched files are in the `cache`. What an interrupted scoring has `finished` is
    not computed again; large results are in `finished_tensors`.
    """

    samples: SampleSet
    data: TokenData
    model: SavedModel | None
    seed: int
    block: Experiment | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    swept: bool = False
    cache: Path | None = None
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - it is immutable
    finished: Journal | None = None
    finished_tensors: TensorJournal | None = None

    def once(self, key: str, compute: Callable[[], Result]) -> Result:
        """Return a value that was finished before an interruption, or compute it; it must be valid JSON."""
        return compute() if self.finished is None else self.finished.once(key, compute)


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
