"""Throughput of this machine: a few real training steps of each distinct network, on made-up data.

The steps are those of the training loop, with the loss of the first run that has the network: noise, gradients, AdamW
and the moving average. The first step does not count, because of setup, nor does the last, because of validation.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from pipeline.config import Config, Run, Training, TrainingResources
from pipeline.errors import KinoflowError
from pipeline.images.classifier import ClassifierObjective
from pipeline.images.vqgan import TokenizerObjective
from pipeline.inspect.plan.counting import BACKWARD
from pipeline.inspect.plan.made_up import made_up_classifier, made_up_images, made_up_tokenizer, made_up_tokens
from pipeline.inspect.plan.sheet import ExperimentSheet, Sheet
from pipeline.networks.objective import Objective, objective_of
from pipeline.networks.saved import is_told_classes, new_network
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


@dataclass(frozen=True)
class Trial:
    """All that a training starts with."""

    network: nn.Module
    objective: Objective
    train: Tensor | LabelledRows
    validation: Tensor


def measured(config: Config, sheet: Sheet) -> Iterator[Measured]:
    """Yield the throughput of each distinct network; a tokenizer needs the weights of its LPIPS in the cache."""
    for name, found in sheet.experiments.items():
        for label, step, training, trial in _trials(config, name, found):
            batch, seconds = _timed(name, training, step, trial)
            yield Measured(name, label, device_name(), batch, seconds, step * batch / seconds)


def device_name() -> str:
    """Return what this machine computes on."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    return f"CPU, threads: {torch.get_num_threads()}"


def _trials(
    config: Config, name: str, found: ExperimentSheet
) -> Iterator[tuple[str, int, Training, Callable[[int], Trial]]]:
    """Yield the label of each network, the FLOPs of a step for one sequence, its training, and a trial of a batch."""
    experiment, networks = config.experiments[name], found.networks
    for label, runs in networks.trained.items():
        run = experiment.runs[runs[0]]

        def of_run(batch: int, run: Run = run) -> Trial:
            data, told = made_up_tokens(config, name, found.shape, batch), is_told_classes(run.model)
            rows: Tensor | LabelledRows = LabelledRows(data.train, data.labels["train"]) if told else data.train
            objective = objective_of(run, data, conditional=told)
            return Trial(new_network(run.model, data), objective, rows, rows[torch.zeros(1, dtype=torch.int64)])

        yield label, (1 + BACKWARD) * networks.count(label).forward, run.training, of_run
    tokenizer, shape = experiment.tokenizer, found.shape
    if tokenizer is not None and networks.tokenizer is not None:
        needed = [Path(config.data.cache) / file for file in tokenizer.loss.files]

        def of_tokenizer(batch: int) -> Trial:
            data = made_up_images(shape, batch)
            objective = TokenizerObjective(data.levels, data.crop, data.augmentation)
            network = made_up_tokenizer(config, name, data, _short(tokenizer.training, batch), needed)
            return Trial(network, objective, data.images["train"], data.images["validation"])

        if all(file.is_file() for file in needed):
            yield "tokenizer", networks.tokenizer.step, tokenizer.training, of_tokenizer
    if networks.classifier is not None:
        count, training = networks.classifier

        def of_classifier(batch: int) -> Trial:
            data = made_up_images(shape, batch)
            train = torch.stack([torch.zeros(batch, dtype=torch.int64), torch.arange(batch)], dim=1)
            return Trial(made_up_classifier(config, name, data), ClassifierObjective(data), train, train[:1])

        yield "classifier", (1 + BACKWARD) * count.forward, training, of_classifier


def _timed(name: str, training: Training, step: int, trial: Callable[[int], Trial]) -> tuple[int, float]:
    """Return the batch and the seconds of a step; a batch that does not fit into memory is halved until it does."""
    device, asked = "cuda" if torch.cuda.is_available() else "cpu", training.resources
    share = training.batch // asked.devices
    batch = max(1, min(share, int(MOST[device] / step)))
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

    def note(row: Row) -> None:
        times.append(time.perf_counter())  # the loop has read the loss, so the device is done

    fabric = new_fabric(training, int(torch.cuda.is_available()), "training.resources.gpus")
    fabric.launch()
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(Path(folder), "measure")
        rows = trial.train, trial.validation
        fit(fabric, trial.network, trial.objective, *rows, training, 0, checkpoints, on_row=note)
    return (times[-2] - times[0]) / (len(times) - 2)


def _short(training: Training, batch: int) -> Training:
    """Return the training of a few steps, of one batch on one device, with a row of the history after each."""
    often = {"log_every": 1, "validate_every": STEPS, "checkpoint_every": STEPS}
    return training.model_copy(
        update={"steps": STEPS, "batch": batch, "parts": 1, "resources": TrainingResources()} | often
    )
