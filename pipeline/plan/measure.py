"""Throughput of this machine: a few real training steps of each distinct network, on data that are made up.

The steps are those of the training loop, with the loss of the first run that has the network: noise, gradients, AdamW
and the moving average. The first step, in which much is set up, and the last, which ends with a validation, do not count.
"""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from pipeline.config import Config, Resources, Run, Training
from pipeline.crystals.tokens import layout
from pipeline.data.tokens import TokenData
from pipeline.flow.errors import KinoflowError
from pipeline.models.saved import is_told_classes, new_network
from pipeline.plan.counting import BACKWARD
from pipeline.plan.sheet import ExperimentSheet, Sheet
from pipeline.plugins import DATASETS
from pipeline.training.batches import LabelledRows
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.loop import Row, fit
from pipeline.training.objective import objective_of
from pipeline.training.train import new_fabric

STEPS = 5
MOST = {"cpu": 50e9, "cuda": 20e12}  # FLOPs of a step that is measured; a batch of more is made smaller


@dataclass(frozen=True)
class Measured:
    """How fast a network trains here: sequences of a batch, seconds of a step, and FLOP/s."""

    experiment: str
    network: str
    device: str
    batch: int
    seconds: float
    flops_per_second: float


def measured(config: Config, sheet: Sheet) -> Iterator[Measured]:
    """Yield the throughput of each distinct network of the runs; tokenizers and classifiers are not measured."""
    for name, found in sheet.experiments.items():
        for label, runs in found.networks.trained.items():
            run = config.experiments[name].runs[runs[0]]
            forward = found.networks.count(label).forward
            batch, seconds = _timed(config, name, found, run, forward)
            rate = (1 + BACKWARD) * forward * batch / seconds
            yield Measured(name, label, device_name(), batch, seconds, rate)


def device_name() -> str:
    """Return what this machine computes on."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    return f"CPU, {torch.get_num_threads()} threads"


def _timed(config: Config, name: str, found: ExperimentSheet, run: Run, forward: int) -> tuple[int, float]:
    """Return the batch and the seconds of a step; a batch that does not fit into memory is halved until it does."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    asked = run.training.resources
    share = run.training.batch // max(1, asked.gpus * getattr(asked, "nodes", 1))
    batch = max(1, min(share, int(MOST[device] / ((1 + BACKWARD) * forward))))
    while True:
        try:
            return batch, _step_seconds(config, name, found, run, batch)
        except torch.cuda.OutOfMemoryError:
            if batch == 1:
                raise KinoflowError(f"{name}: a step with one sequence does not fit into the GPU's memory") from None
            batch //= 2


def _step_seconds(config: Config, name: str, found: ExperimentSheet, run: Run, batch: int) -> float:
    """Return the seconds of one step, by the training loop itself."""
    data, told = made_up_data(config, name, found, batch), is_told_classes(run.model)
    training, times = _short(run.training, batch), list[float]()

    def note(row: Row) -> None:
        times.append(time.perf_counter())  # the loop has read the loss, so that the device is done

    fabric = new_fabric(training, int(torch.cuda.is_available()))
    fabric.launch()
    train: Tensor | LabelledRows = LabelledRows(data.train, data.labels["train"]) if told else data.train
    validation = train[torch.zeros(1, dtype=torch.int64)]
    with tempfile.TemporaryDirectory() as folder:
        network, objective = new_network(run.model, data), objective_of(run, data, conditional=told)
        checkpoints = Checkpoints(Path(folder), "measure")
        fit(fabric, network, objective, train, validation, training, 0, checkpoints, on_row=note)
    return (times[-2] - times[0]) / (len(times) - 2)


def _short(training: Training, batch: int) -> Training:
    """Return the training of a few steps, of one batch on one device, with a row of the history after each."""
    parts = {key: 1 for key in ("accumulate", "parts") if key in Training.model_fields}
    often = {"log_every": 1, "validate_every": STEPS, "checkpoint_every": STEPS}
    return training.model_copy(update={"steps": STEPS, "batch": batch, "resources": Resources()} | often | parts)


def made_up_data(config: Config, name: str, found: ExperimentSheet, rows: int) -> TokenData:
    """Return random tokens of the shape of an experiment's data, and all that its paths may want to know."""
    experiment, shape, generator = config.experiments[name], found.shape, torch.Generator().manual_seed(0)
    choice = experiment.data
    data_set, options = DATASETS.load(choice.name), DATASETS.options(choice.name, choice.options)
    if getattr(data_set, "CRYSTALS", False):
        kinds = layout(torch.full((rows,), options.max_atoms), options.max_atoms)
    elif shape.vocabulary.kinds == 1:
        kinds = torch.zeros(rows, shape.length, dtype=torch.int64)
    else:
        raise KinoflowError(f"experiments.{name}.data: {choice.name!r} has tokens of several kinds; do not measure it")
    tokens = _tokens_of_kinds(kinds, shape.vocabulary.kind_of.values, generator)
    embeddings = None
    if experiment.tokenizer is not None:
        codes = torch.randn(shape.vocabulary.size, experiment.tokenizer.network.code_features, generator=generator)
        embeddings = torch.nn.functional.normalize(codes, dim=-1)
    labels = torch.randint(max(1, shape.classes), (rows,), generator=generator)
    return TokenData(
        tokens,
        tokens[:1],
        tokens[:1],
        shape.vocabulary,
        {"name": choice.name},
        distances=data_set.distances(options) if hasattr(data_set, "distances") else None,
        embeddings=embeddings,
        grid=shape.grid,
        labels={"train": labels} if shape.classes else {},
        classes=shape.classes,
    )


def _tokens_of_kinds(kinds: Tensor, kind_of: Tensor, generator: torch.Generator) -> Tensor:
    """Return random tokens for positions of `kinds` [B, D], each among those that its position can hold."""
    tokens = torch.empty_like(kinds)
    for kind in kinds.unique().tolist():
        here, possible = kinds == kind, (kind_of == kind).nonzero().flatten()
        tokens[here] = possible[torch.randint(len(possible), (int(here.sum()),), generator=generator)]
    return tokens
