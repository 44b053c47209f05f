"""How often scoring runs networks of an experiment, by metric; other metrics run none, or one from elsewhere."""

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
    """Yield runs and references, the labels of networks that see sequences to score them, and how many of these."""
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
    """Return the metrics of an experiment whose computation is not in its FLOPs, though there is some."""
    counted = {*_OWN, *WITHOUT_NETWORK, *(["generative_perplexity"] if judge is not None else [])}
    return [metric for metric in experiment.scoring if metric not in counted]


def is_mixture(run: Run) -> bool:
    """Return whether the bound on the likelihood of a run is evaluated: it has a mixture path."""
    if run.path is None:
        return False
    return isinstance(example_path(run.path.name, Vocabulary.single(4, specials=1)), MixturePath)


def _perplexity(run: Run, options: Any, shape: Shape) -> int:
    """A swept run has the network of another, which has the row."""
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
