"""The computation of an experiment, job by job: how many sequences each network sees, the FLOPs, and GPU-hours."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pipeline.config import Experiment, Resources, Run, Sampling, Training, TrainingResources
from pipeline.config.contracts import JudgedMetricPlugin
from pipeline.config.plugins import METRICS
from pipeline.config.runs import Precision
from pipeline.errors import KinoflowError, did_you_mean
from pipeline.images.search import candidates_of, sampling_of
from pipeline.inspect.plan.networks import BACKWARD, Count, Networks, TokenizerCount
from pipeline.inspect.plan.shapes import Shape
from pipeline.inspect.plan.visits import evaluations, is_mixture
from pipeline.networks.memory import training_bytes
from pipeline.networks.saved import is_told_classes
from pipeline.stages.job import Job
from pipeline.stages.predicting import prediction_of, runs_that_predict

SAMPLING: Precision = "32-true"  # sampling and scoring use the precision of the saved weights
LIKELIHOODS = ("perplexity", "likelihood_bound")  # metrics that run the network of each run itself
CRYSTALS = ("crystal_coverage", "crystal_distributions", "crystal_stability", "crystal_symmetry", "crystal_validity")
WITHOUT_NETWORK = ("known_distribution", *CRYSTALS)


@dataclass(frozen=True)
class Gpu:
    """A kind of GPU: FLOP/s in float32 and, with tensor cores, in bfloat16 (None: it has none), and the source."""

    name: str
    float32: float
    bfloat16: float | None
    source: str

    def peak(self, precision: Precision) -> float:
        """Return the peak FLOP/s for a value of `training.precision`; without bfloat16, that of float32."""
        return self.bfloat16 or self.float32 if precision == "bf16-mixed" else self.float32


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("V100", 15.7e12, None, "NVIDIA's data sheet of the Tesla V100, SXM2"),
        Gpu("A100", 19.5e12, 312e12, "NVIDIA's data sheet of the A100, SXM4"),
        Gpu("H100", 66.9e12, 989.4e12, "NVIDIA's white paper on the H100, SXM5"),
    )
}


def gpu_named(name: str) -> Gpu:
    """Return the kind of GPU of this name."""
    if name not in GPUS:
        raise KinoflowError(f"--gpu {name}: unknown kind of GPU; {did_you_mean(name, list(GPUS))}")
    return GPUS[name]


def check_utilisation(share: float) -> None:
    """Raise unless the share of the peak that is reached lies in (0, 1]."""
    if not 0 < share <= 1:
        raise KinoflowError(f"--utilisation {share:g}: must lie above 0 and be at most 1, such as 0.35")


@dataclass(frozen=True)
class Work:
    """What the jobs of one rule do for one run (or for the experiment) with one `network`.

    `key` is the configuration's key for the resources of such a job, `longest` the longest job's share of the work,
    `memory` the bytes that a training needs at least on its device, and `steps` those of its optimiser.
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
    memory: float = 0.0
    steps: int = 0

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


def work_of(job: Job, shape: Shape, networks: Networks) -> Iterator[Work]:
    """Yield the work of all jobs of an experiment that run a network of ours."""
    key, resources = f"experiments.{job.experiment}.scoring_resources", job.block.scoring_resources
    scoring = partial(Work, job.experiment, precision=SAMPLING, key=key, resources=resources)
    if networks.tokenizer is not None:
        yield from _tokenizer_work(job, shape, networks.tokenizer)
        for run, chosen in job.block.runs.items():
            yield scoring("pictures", run, "tokenizer", float(chosen.sampling.count) * networks.tokenizer.decode)
    if networks.classifier is not None:
        count, training = networks.classifier
        flops = _training_flops(training, count, shape.images.rows["validation"] if shape.images else None)
        yield scoring("train_classifier", "", "classifier", flops, precision=training.precision)
    least = dict[str, float]()  # by what the memory of a training depends on
    for one in job.runs():
        network, count = networks.of_run[one.name]
        if not one.run.weights:
            training, key = one.run.training, _key(one, "training")
            flops = _training_flops(training, count, shape.rows["validation"])
            sizes = f"{one.run.model.model_dump_json()} {training.batch} {training.parts} {training.precision}"
            if sizes not in least:
                least[sizes] = training_bytes(one.run.model, training, shape)
            work = Work(job.experiment, "train", one.name, network, flops, training.precision, key, training.resources)
            yield replace(work, memory=least[sizes], steps=training.steps)
        yield from _sampling_work(one, shape, network, count)
    for name, network, sequences in _scored(job.block, shape, networks):
        yield scoring("score", name, network, sequences * networks.count(network).forward)


def uncounted(experiment: Experiment, judge: str | None) -> list[str]:
    """Return the metrics of an experiment that run networks whose FLOPs are not counted."""
    counted = {*LIKELIHOODS, *WITHOUT_NETWORK, *(["generative_perplexity"] if judge is not None else [])}
    return [metric for metric in experiment.scoring if metric not in counted]


def _training_flops(training: Training, count: Count, validation: int | None) -> float:
    """Return the FLOPs of a training: every batch forward and backward, and validations if their rows are known."""
    batches = (1 + BACKWARD) * float(training.steps) * training.batch * count.forward
    return batches + _validation_flops(training, count, validation)


def _validation_flops(training: Training, count: Count, validation: int | None) -> float:
    return float(-(-training.steps // training.validate_every)) * (validation or 0) * count.forward


def _tokenizer_work(job: Job, shape: Shape, counted: TokenizerCount) -> Iterator[Work]:
    training, loss = job.tokenizer.training, job.tokenizer.loss
    quiet = min(training.steps, loss.adversarial_from) if loss.adversarial else training.steps
    flops = float(training.batch) * (quiet * counted.quiet_step + (training.steps - quiet) * counted.step)
    flops += _validation_flops(training, counted.vqvae, shape.images.rows["validation"] if shape.images else None)
    key, asked = f"experiments.{job.experiment}.tokenizer.training.resources", training.resources
    yield Work(job.experiment, "train_tokenizer", "", "tokenizer", flops, training.precision, key, asked)
    one = asked.model_copy(update={"gpus": min(1, asked.gpus), "nodes": 1})
    seen = float(sum(filter(None, shape.rows.values())))
    yield Work(job.experiment, "encode", "", "tokenizer", seen * counted.encode, SAMPLING, key, one)


def _sampling_work(job: Job, shape: Shape, network: str, count: Count) -> Iterator[Work]:
    """Yield the work of drawing samples, of predicting structures, and of a search for how to draw samples.

    An autoregressive network caches what it has seen: all its tokens together cost as much as one pass over them. On a
    path the network is evaluated where a token may jump. Guidance runs it with the class and without.
    """
    sampling, search = job.run.sampling, job.block.search
    work = partial(Work, job.experiment, precision=SAMPLING, key=_key(job, "sampling"), resources=sampling.resources)
    guided = is_told_classes(job.run.model) and sampling.guidance not in (0, 1)
    path, pass_of = job.run.path, (2 if guided else 1) * count.forward

    def flops(sampling: Sampling) -> float:
        return sampling.count * (1 if path is None else evaluations(path, sampling, shape)) * pass_of

    blocks = -(-sampling.count // sampling.block)
    longest = min(1.0, -(-blocks // sampling.shards) * sampling.block / sampling.count)
    yield work("sample", job.name, network, flops(sampling), longest=longest)
    if any(one.name == job.name for one in runs_that_predict(job)):
        predicted = prediction_of(job).compositions * prediction_of(job).samples
        yield work("predict", job.name, network, flops(sampling.model_copy(update={"count": predicted})))
    if sampling.searched and search is not None:
        tried = [sampling_of(job.block, job.run, candidate) for candidate in candidates_of(job.block, job.name)]
        yield work("search", job.name, network, sum(flops(one.model_copy(update={"searched": False})) for one in tried))


def _scored(experiment: Experiment, shape: Shape, networks: Networks) -> Iterator[tuple[str, str, int]]:
    """Yield runs and references, the labels of the networks that score them, and how many sequences these see.

    Other metrics run no network, or one from elsewhere.
    """
    for metric, values in experiment.scoring.items():
        options = METRICS.options(metric, values)
        if metric in LIKELIHOODS:
            for name, run in experiment.runs.items():
                if sequences := _evaluated(metric, run, options, shape):
                    yield name, networks.of_run[name][0], sequences
        elif networks.judge is not None and isinstance(METRICS.load(metric), JudgedMetricPlugin):
            counts = {name: run.sampling.count for name, run in experiment.runs.items()}
            counts |= dict.fromkeys(experiment.references, experiment.sampling.count)
            yield from ((name, networks.judge, min(options.samples, count)) for name, count in counts.items())


def _evaluated(metric: str, run: Run, options: Any, shape: Shape) -> int:
    """Return how many sequences a run's network sees for its likelihood, or for the bound of a mixture path."""
    sequences = min(options.sequences, shape.rows["test"] or options.sequences)
    if metric == "perplexity":
        if run.weights:
            return 0  # its network is scored with another run
        sequences *= 1 + shape.evaluation
        if run.path is None:
            return int(sequences)
    return int(sequences * options.points) if run.path is not None and is_mixture(run.path) else 0


def _key(job: Job, part: str) -> str:
    """Return the configuration's key for the resources of a run's jobs: that of the experiment, or of a run."""
    shared = getattr(job.block, part).resources == getattr(job.run, part).resources
    own = "" if shared else f"runs.{job.run.weights or job.name}."
    return f"experiments.{job.experiment}.{own}{part}.resources"
