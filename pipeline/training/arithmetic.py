"""The arithmetic of a training: the faster of two on the machine, where the configuration leaves it open.

What is chosen is kept in the checkpoints, so that a training that is taken up again goes on with the same. On a CPU it
is always float32: results must not differ between machines without a word.
"""

import time
from collections.abc import Callable
from copy import deepcopy

import torch
from lightning_fabric import Fabric
from torch import nn

from pipeline.config import Training
from pipeline.config.runs import Precision
from pipeline.training.batches import Batches, Rows
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.gradients import Objective, add_gradients

STEPS = 5
LEAST_GAIN = 1.05  # of bf16-mixed, in speed; with less, more digits are worth more


def chosen_precision(
    training: Training, gpus: int, checkpoints: Checkpoints, seconds: Callable[[Precision], float]
) -> Precision:
    """Return the arithmetic to train with; `auto` becomes that of the checkpoint, or what suits the machine.

    `seconds` are those of a few steps under an arithmetic. They are asked for only where there is a choice, which is on
    a GPU that knows bfloat16, and thus TF32. Several processes might answer differently, and take bfloat16.
    """
    precision = training.precision
    if precision != "auto":
        return precision
    if (saved := checkpoints.latest(training.steps)) is not None:
        kept: Precision = saved["precision"]
        return kept
    if not gpus or not torch.cuda.is_bf16_supported(including_emulation=False):
        return "32-true"
    if training.resources.devices > 1:
        return "bf16-mixed"
    return "bf16-mixed" if seconds("bf16-mixed") * LEAST_GAIN < seconds("tf32") else "tf32"


def seconds_of(fabric: Fabric, network: nn.Module, objective: Objective, rows: Rows, batch: int, parts: int) -> float:
    """Return the wall seconds of a few training steps of a copy of the network, after as many that do not count."""
    copy = deepcopy(network)
    model, optimiser = fabric.setup(copy, torch.optim.AdamW(copy.parameters(), lr=1e-6, fused=True))
    batches, start = Batches(rows, batch, 0, parts), 0.0
    model.train()
    for step in range(2 * STEPS):
        loss = add_gradients(fabric, model, objective, batches.at(step), 0, step)
        optimiser.step()
        optimiser.zero_grad()
        if step % STEPS == STEPS - 1:
            float(loss)  # waits for the device
            start, before = time.perf_counter(), start
    return start - before
