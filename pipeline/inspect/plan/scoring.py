"""How often scoring runs an experiment's networks, by metric; other metrics run none, or one from elsewhere."""

from collections.abc import Callable, Iterator
from typing import Any

from pipeline.config import Experiment, Run
from pipeline.config.contracts import JudgedMetricPlugin
from pipeline.config.plugins import METRICS
from pipeline.flow.paths import example_path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.vocabulary import Vocabulary
from pipeline.inspect.plan.networks import label_of
from pipeline.inspect.plan.shapes import Shape

WITHOUT_NETWORK = (
    "known_distribution",
    "crystal_coverage",
    "crystal_distributions",
    "crystal_stability",
    "crystal_validity",
)


def evaluations_of(experiment: Experiment, shape: Shape, judge: str | None) -> Iterator[tuple[str, str, int]]:
    """Yield runs and references, the labels of the networks that score them, and how many sequences these see."""
    for metric, values in experiment.scoring.items():
        options = METRICS.options(metric, values)
        if metric in _OWN:
            for name, run in experiment.runs.items():
                if times := _OWN[metric](run, options, shape):
                    yield name, label_of(experiment, name), times
        elif judge is not None and isinstance(METRICS.load(metric), JudgedMetricPlugin):
            counts = {name: run.sampling.count for name, run in experiment.runs.items()}
            counts |= dict.fromkeys(experiment.references, experiment.sampling.count)
            yield from ((name, judge, min(options.samples, count)) for name, count in counts.items())


def uncounted(experiment: Experiment, judge: str | None) -> list[str]:
    """Return the metrics of an experiment that run networks whose FLOPs are not counted."""
    counted = {*_OWN, *WITHOUT_NETWORK, *(["generative_perplexity"] if judge is not None else [])}
    return [metric for metric in experiment.scoring if metric not in counted]


def is_mixture(run: Run) -> bool:
    """Return whether a run has a mixture path, so that its bound on the likelihood is evaluated."""
    if run.path is None:
        return False
    return isinstance(example_path(run.path.name, Vocabulary.single(4, specials=1)), MixturePath)


def _perplexity(run: Run, options: Any, shape: Shape) -> int:
    """Return the sequences that are seen; 0 for a swept run, whose network is scored with another run."""
    sequences = (1 + shape.evaluation) * min(options.sequences, shape.rows["test"] or options.sequences)
    if run.weights:
        return 0
    return sequences if run.path is None else sequences * options.points * is_mixture(run)


def _likelihood_bound(run: Run, options: Any, shape: Shape) -> int:
    return min(options.sequences, shape.rows["test"] or options.sequences) * options.points * is_mixture(run)


_OWN: dict[str, Callable[[Run, Any, Shape], int]] = {
    "perplexity": _perplexity,
    "likelihood_bound": _likelihood_bound,
}
