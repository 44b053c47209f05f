"""The computation of an experiment, job by job: how many sequences each network sees, and the FLOPs."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.config import Experiment, Resources, Run, Training, TrainingResources
from pipeline.images.search import candidates_of
from pipeline.inspect.plan.counting import BACKWARD, Count
from pipeline.inspect.plan.gpus import Gpu, Precision
from pipeline.inspect.plan.networks import Networks
from pipeline.inspect.plan.scoring import evaluations_of
from pipeline.inspect.plan.shapes import Shape
from pipeline.networks.saved import is_told_classes

SAMPLING: Precision = "32-true"  # sampling and scoring use the precision of the saved weights


@dataclass(frozen=True)
class Work:
    """What the jobs of one rule do for one run (or for the experiment) with one `network`.

    `key` is the configuration's key for the resources of such a job, `longest` the longest job's share of the work.
    """

    experiment: str
    rule: str
    name: str
    network: str
    flops: float
    precision: Precision
    key: str
    resources: Resources
    longest: float = 1.0

    @property
    def gpus(self) -> int:
        """How many GPUs a job has, over all its nodes; 0: it computes on the CPU."""
        nodes = self.resources.nodes if isinstance(self.resources, TrainingResources) else 1
        return self.resources.gpus * nodes

    def gpu_hours(self, gpu: Gpu, utilisation: float) -> float:
        """Return the hours of all jobs together on one GPU that reaches a share `utilisation` of its peak."""
        return self.flops / (gpu.peak(self.precision) * utilisation) / 3600

    def hours(self, gpu: Gpu, utilisation: float) -> float:
        """Return the hours that the longest job takes with all its GPUs."""
        return self.longest * self.gpu_hours(gpu, utilisation) / max(1, self.gpus)


def work_of(name: str, experiment: Experiment, shape: Shape, networks: Networks) -> Iterator[Work]:
    """Yield the work of all jobs of an experiment that run a network of ours."""
    yield from _tokenizer_work(name, experiment, shape, networks)
    scoring = f"experiments.{name}.scoring_resources"
    if networks.classifier is not None:
        count, training = networks.classifier
        flops = training_flops(training, count, shape.images.rows["validation"] if shape.images else None)
        resources = experiment.scoring_resources
        yield Work(name, "train_classifier", "", "classifier", flops, training.precision, scoring, resources)
    for run, chosen in experiment.runs.items():
        network, count = networks.of_run[run]
        key = _key(name, run, chosen, experiment, "training")
        training = chosen.training
        if not chosen.weights:
            flops = training_flops(training, count, shape.rows["validation"])
            yield Work(name, "train", run, network, flops, training.precision, key, training.resources)
        yield from _sampling_work(name, run, experiment, shape, network, count)
    for run, network, evaluations in evaluations_of(experiment, shape, networks.judge):
        resources = experiment.scoring_resources
        flops = evaluations * networks.count(network).forward
        yield Work(name, "score", run, network, flops, SAMPLING, scoring, resources)


def training_flops(training: Training, count: Count, validation: int | None) -> float:
    """Return the FLOPs of a training: every batch forward and backward, and validations if their rows are known."""
    validations = -(-training.steps // training.validate_every)
    batches = (1 + BACKWARD) * float(training.steps) * training.batch * count.forward
    return batches + float(validations) * (validation or 0) * count.forward


def sampling_evaluations(run: Run, steps: int | None = None) -> int:
    """Return how many passes over a sequence it takes to draw it.

    An autoregressive network caches what it has seen: all its tokens together cost as much as one pass over them.
    Guidance runs the network with the class and without.
    """
    guided = is_told_classes(run.model) and run.sampling.guidance not in (0, 1)
    return (1 if run.path is None else steps or run.sampling.steps) * (2 if guided else 1)


def _sampling_work(
    name: str, run: str, experiment: Experiment, shape: Shape, network: str, count: Count
) -> Iterator[Work]:
    chosen = experiment.runs[run]
    sampling, key = chosen.sampling, _key(name, run, chosen, experiment, "sampling")
    blocks = -(-sampling.count // sampling.block)
    longest = min(1.0, -(-blocks // sampling.shards) * sampling.block / sampling.count)
    evaluations = sampling_evaluations(chosen) * count.forward
    yield Work(name, "sample", run, network, sampling.count * evaluations, SAMPLING, key, sampling.resources, longest)
    if sampling.searched and experiment.search is not None:
        drawn = len(candidates_of(experiment, run)) * experiment.search.count
        yield Work(name, "search", run, network, drawn * evaluations, SAMPLING, key, sampling.resources)


def _tokenizer_work(name: str, experiment: Experiment, shape: Shape, networks: Networks) -> Iterator[Work]:
    if experiment.tokenizer is None or networks.tokenizer is None or shape.images is None:
        return
    training, loss, counted = experiment.tokenizer.training, experiment.tokenizer.loss, networks.tokenizer
    quiet = min(training.steps, loss.adversarial_from) if loss.adversarial else training.steps
    flops = float(training.batch) * (quiet * counted.quiet_step + (training.steps - quiet) * counted.step)
    validations = -(-training.steps // training.validate_every)
    flops += float(validations) * (shape.images.rows["validation"] or 0) * counted.vqvae.forward
    key = f"experiments.{name}.tokenizer.training.resources"
    asked = training.resources
    yield Work(name, "train_tokenizer", "", "tokenizer", flops, training.precision, key, asked)
    one = asked.model_copy(update={"gpus": min(1, asked.gpus)} | ({"nodes": 1} if hasattr(asked, "nodes") else {}))
    seen = sum(rows for rows in shape.rows.values() if rows is not None)
    yield Work(name, "encode", "", "tokenizer", float(seen) * counted.encode, SAMPLING, key, one)
    scoring = f"experiments.{name}.scoring_resources"
    for run, chosen in experiment.runs.items():
        decoded, resources = float(chosen.sampling.count) * counted.decode, experiment.scoring_resources
        yield Work(name, "pictures", run, "tokenizer", decoded, SAMPLING, scoring, resources)


def _key(name: str, run: str, chosen: Run, experiment: Experiment, part: str) -> str:
    """Return the configuration's key for the resources of a run's jobs: that of the experiment, or of a run."""
    shared = getattr(experiment, part).resources == getattr(chosen, part).resources
    own = f"experiments.{name}.runs.{chosen.weights or run}.{part}.resources"
    return f"experiments.{name}.{part}.resources" if shared else own
