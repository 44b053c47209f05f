"""Throughput of this machine: a few real training steps of each distinct network, on random data of the same shape.

The steps are those of the training loop, with the loss of the first run that has the network: noise, gradients, AdamW
and the moving average. The first step does not count, because of setup, nor does the last, because of validation.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import Config, Training, TrainingResources
from pipeline.crystals.tokens import layout
from pipeline.errors import KinoflowError
from pipeline.flow.checks import deferred_checks
from pipeline.images.classifier import Classifier, ClassifierObjective, Description
from pipeline.images.feature_choice import ChosenFeatures, comparison_options
from pipeline.images.imagedata import ImageData
from pipeline.images.vqgan import TokenizerObjective, describe, new_vqgan
from pipeline.inspect.plan.networks import BACKWARD
from pipeline.inspect.plan.shapes import Shape
from pipeline.inspect.plan.sheet import ExperimentSheet, Sheet
from pipeline.networks.objective import Objective, objective_of
from pipeline.networks.saved import is_told_classes, new_network
from pipeline.stages.job import Job
from pipeline.tokens.token_data import SPLITS, TokenData
from pipeline.training.batches import LabelledRows
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.history import Row
from pipeline.training.loop import fit
from pipeline.training.processes import new_fabric

STEPS = 5
MOST = {"cpu": 50e9, "cuda": 20e12}  # most FLOPs of a measured step; larger batches are made smaller


@dataclass(frozen=True)
class Measured:
    """How fast a network trains here: sequences of a batch, seconds of a step, and FLOP/s."""

    experiment: str
    network: str
    device: str
    batch: int
    seconds: float
    flops_per_second: float


class Trial(NamedTuple):
    """All that a training starts with."""

    network: nn.Module
    objective: Objective
    train: Tensor | LabelledRows
    validation: Tensor


def measured(config: Config, sheet: Sheet) -> Iterator[Measured]:
    """Yield the throughput of each distinct network; a tokenizer needs the weights of its LPIPS in the cache."""
    cuda = torch.cuda.is_available()
    device = torch.cuda.get_device_name(0) if cuda else f"CPU, threads: {torch.get_num_threads()}"
    for name, found in sheet.experiments.items():
        for label, step, training, trial in _trials(Job(config, name), found):
            batch, seconds = _timed(name, training, step, trial)
            yield Measured(name, label, device, batch, seconds, step * batch / seconds)


def _trials(job: Job, found: ExperimentSheet) -> Iterator[tuple[str, int, Training, Callable[[int], Trial]]]:
    """Yield the label of each network, the FLOPs of a step for one sequence, its training, and a trial of a batch."""
    networks, shape = found.networks, found.shape
    for label, runs in networks.trained.items():
        trial = partial(_run_trial, Job(job.config, job.experiment, runs[0]), shape)
        yield label, (1 + BACKWARD) * networks.count(label).forward, job.block.runs[runs[0]].training, trial
    if networks.tokenizer is not None and all(file.is_file() for file in _lpips_files(job)):
        yield "tokenizer", networks.tokenizer.step, job.tokenizer.training, partial(_tokenizer_trial, job, shape)
    if networks.classifier is not None:
        count, training = networks.classifier
        yield "classifier", (1 + BACKWARD) * count.forward, training, partial(_classifier_trial, job, shape)


def _run_trial(job: Job, shape: Shape, batch: int) -> Trial:
    data, told = _random_tokens(job, shape, batch), is_told_classes(job.run.model)
    rows: Tensor | LabelledRows = LabelledRows(data.train, data.labels["train"]) if told else data.train
    network = new_network(job.run.model, data)
    objective = objective_of(job.run, data, network, conditional=told)
    return Trial(network, objective, rows, rows[torch.zeros(1, dtype=torch.int64)])


def _tokenizer_trial(job: Job, shape: Shape, batch: int) -> Trial:
    """Return the trial of a tokenizer whose discriminator, if it has one, starts at once."""
    data, chosen = _random_images(shape, batch), job.tokenizer
    loss = chosen.loss.model_copy(update={"adversarial_from": 0})
    chosen = chosen.model_copy(update={"loss": loss, "training": _short(chosen.training, batch)})
    network = new_vqgan(chosen, describe(job.config, job.experiment, data), _lpips_files(job))
    objective = TokenizerObjective(data.levels, data.crop, data.augmentation)
    return Trial(network, objective, data.images["train"], data.images["validation"])


def _lpips_files(job: Job) -> list[Path]:
    return [job.cache / file for file in job.tokenizer.loss.files]


def _classifier_trial(job: Job, shape: Shape, batch: int) -> Trial:
    data = _random_images(shape, batch)
    options = ChosenFeatures.of(comparison_options(job.config, job.experiment).features).options
    description = Description(options=options, side=data.crop, channels=data.grid[2], classes=data.classes)
    train = torch.stack([torch.zeros(batch, dtype=torch.int64), torch.arange(batch)], dim=1)
    return Trial(Classifier(description), ClassifierObjective(data), train, train[:1])


def _random_tokens(job: Job, shape: Shape, rows: int) -> TokenData:
    """Return random tokens, each one that its position can hold, with all that the experiment's paths may need."""
    chosen, generator = job.data, torch.Generator().manual_seed(0)
    if chosen.plugin.CRYSTALS:
        kinds = layout(torch.full((rows,), chosen.options.max_atoms), chosen.options.max_atoms)
    elif shape.vocabulary.kinds == 1:
        kinds = torch.zeros(rows, shape.length, dtype=torch.int64)
    else:
        where = f"experiments.{job.experiment}.data"
        raise KinoflowError(f"{where}: {chosen.name!r} has tokens of several kinds; do not measure it")
    tokens, embeddings = torch.empty_like(kinds), None
    for kind in kinds.unique().tolist():
        here, possible = kinds == kind, (shape.vocabulary.kind_of.values == kind).nonzero().flatten()
        tokens[here] = possible[torch.randint(len(possible), (int(here.sum()),), generator=generator)]
    if job.block.tokenizer is not None:
        features = job.block.tokenizer.network.code_features
        embeddings = functional.normalize(torch.randn(shape.vocabulary.size, features, generator=generator), dim=-1)
    labels = torch.randint(max(1, shape.classes), (rows,), generator=generator)
    return TokenData(
        tokens,
        tokens[:1],
        tokens[:1],
        shape.vocabulary,
        {"name": chosen.name},
        distances=chosen.plugin.distances(chosen.options),
        embeddings=embeddings,
        grid=shape.grid,
        labels={"train": labels} if shape.classes else {},
        classes=shape.classes,
    )


def _random_images(shape: Shape, rows: int) -> ImageData:
    assert shape.images is not None, "only experiments on images have them"
    images, generator, classes = shape.images, torch.Generator().manual_seed(0), max(2, shape.classes)
    size = (rows, images.side, images.side, images.channels)
    pixels = torch.randint(images.levels, size, dtype=torch.uint8, generator=generator)
    parts = {split: pixels if split == "train" else pixels[:1] for split in SPLITS}
    labels = {split: torch.arange(len(part)) % classes for split, part in parts.items()}
    names = tuple(map(str, range(classes)))
    return ImageData(parts, labels, names, images.levels, images.side, "none", {"name": "random"})


def _timed(name: str, training: Training, step: int, trial: Callable[[int], Trial]) -> tuple[int, float]:
    """Return the batch and the seconds of a step; a batch that does not fit into memory is halved until it does."""
    most = MOST["cuda" if torch.cuda.is_available() else "cpu"]
    batch = max(1, min(training.batch // training.resources.devices, int(most / step)))
    while True:
        try:
            return batch, _step_seconds(trial(batch), _short(training, batch))
        except torch.cuda.OutOfMemoryError:
            if batch == 1:
                raise KinoflowError(f"{name}: a step with one sequence does not fit into the GPU's memory") from None
            batch //= 2


def _step_seconds(trial: Trial, training: Training) -> float:
    """Return the seconds of one step, by the training loop itself."""
    times: list[float] = []
    fabric = new_fabric(training, int(torch.cuda.is_available()), "training.resources.gpus")
    fabric.launch()
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(Path(folder), "measure")
        # When a row is noted, the loop has read the loss, so the device is done.

        def note(row: Row) -> None:
            times.append(time.perf_counter())

        fit(fabric, *trial, training, 0, checkpoints, on_row=note, around=deferred_checks)
    return (times[-2] - times[0]) / (len(times) - 2)


def _short(training: Training, batch: int) -> Training:
    """Return the training of a few steps, of one batch on one device, with a row of the history after each."""
    often = {"log_every": 1, "validate_every": STEPS, "checkpoint_every": STEPS}
    once = {"steps": STEPS, "batch": batch, "parts": 1, "resources": TrainingResources()}
    return training.model_copy(update=often | once)
