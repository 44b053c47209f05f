"""The distinct networks of an experiment: which run has which, with their parameters and FLOPs."""

from dataclasses import dataclass

from pipeline.config import Experiment, Training
from pipeline.config.plugins import DATASETS, METRICS
from pipeline.images.classifier_training import training_of
from pipeline.images.feature_choice import METRIC, ChosenFeatures
from pipeline.inspect.plan.counting import Count, count_network
from pipeline.inspect.plan.shapes import Shape
from pipeline.inspect.plan.tokenizers import TokenizerCount, count_classifier, count_tokenizer
from pipeline.stages.job import Job


@dataclass(frozen=True)
class Networks:
    """The network of each run with its label, and the other networks that an experiment trains."""

    of_run: dict[str, tuple[str, Count]]
    trained: dict[str, list[str]]  # by label: the runs that train one
    tokenizer: TokenizerCount | None
    classifier: tuple[Count, Training] | None
    judge: str | None  # label of the network that judges texts

    def count(self, label: str) -> Count:
        """Return the count of the network with this label."""
        return next(count for other, count in self.of_run.values() if other == label)

    def rows(self) -> list[tuple[str, int, Count]]:
        """Return the label of each distinct network, how many of these are trained, and its count."""
        rows = [(label, len(runs), self.count(label)) for label, runs in self.trained.items()]
        if self.tokenizer is not None:
            rows.append(("tokenizer: VQVAE", 1, self.tokenizer.vqvae))
            if self.tokenizer.discriminator is not None:
                rows.append(("tokenizer: discriminator", 1, self.tokenizer.discriminator))
        if self.classifier is not None:
            rows.append(("classifier", 1, self.classifier[0]))
        return rows


def networks_of(job: Job, shape: Shape) -> Networks:
    """Count all networks of an experiment, each distinct one once."""
    experiment = job.block
    counted: dict[str, tuple[str, Count]] = {}
    of_run, trained = dict[str, tuple[str, Count]](), dict[str, list[str]]()
    for run, chosen in experiment.runs.items():
        meaning = chosen.model.model_dump_json()
        if meaning not in counted:
            counted[meaning] = label_of(experiment, run), count_network(chosen.model, shape)
        of_run[run] = counted[meaning]
        if not chosen.weights:
            trained.setdefault(of_run[run][0], []).append(run)
    judge = job.judging_run()
    return Networks(
        of_run,
        trained,
        _tokenizer(experiment, shape),
        _classifier(job, shape),
        of_run[judge][0] if judge is not None else None,
    )


def label_of(experiment: Experiment, run: str) -> str:
    """Return the name of a run's network, and the options that differ from the shared ones."""
    model, shared = experiment.runs[run].model, experiment.model
    if model.name != shared.name:
        shared = next(other.model for other in experiment.runs.values() if other.model.name == model.name)
    own = {key: value for key, value in model.options.items() if shared.options.get(key) != value}
    return ", ".join([model.name, *(f"{key}: {value}" for key, value in own.items())])


def _tokenizer(experiment: Experiment, shape: Shape) -> TokenizerCount | None:
    if experiment.tokenizer is None or shape.images is None:
        return None
    codes = DATASETS.options(experiment.data.name, experiment.data.options).codes
    return count_tokenizer(experiment.tokenizer, codes, shape.images)


def _classifier(job: Job, shape: Shape) -> tuple[Count, Training] | None:
    if not job.trains_classifier():
        return None
    features = ChosenFeatures.of(METRICS.options(METRIC, job.block.scoring[METRIC]).features)
    return count_classifier(features.options, shape), training_of(features.options)
