"""How a training computes: the faster way on the machine, where the configuration leaves it open.

What is chosen is kept in the checkpoints, so that a training that is taken up again goes on with the same. On a CPU
`auto` is always float32, and not compiled: results must not differ between machines without a word.
"""

import time
from collections.abc import Callable
from copy import deepcopy

import torch
from lightning_fabric import Fabric
from torch import nn

from pipeline.config import Training
from pipeline.config.runs import Precision
from pipeline.errors import KinoflowError
from pipeline.training.batches import Batches, Rows
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.gradients import Objective, add_gradients

STEPS = 5
LEAST_GAIN = 1.05  # in speed, of bf16-mixed (with less, more digits are worth more) and of compiled networks


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


def chosen_compilation(
    training: Training, gpus: int, checkpoints: Checkpoints, seconds: Callable[[bool], float]
) -> bool:
    """Return whether to compile the network.

    `seconds` are those of a few steps with or without. Where `auto` has a choice, a compiler that fails means no.
    """
    if training.compile is False:
        return False
    if training.compile == "auto":
        if (saved := checkpoints.latest(training.steps)) is not None:
            return bool(saved["compile"])
        if gpus != 1 or training.resources.devices > 1:
            return False
    try:
        compiled = seconds(True)
    except RuntimeError as error:  # those of torch's compilers are such errors
        why = f"torch.compile fails on this machine: {str(error).strip().partition(chr(10))[0]}"
        if training.compile is True:
            raise KinoflowError(f"training.compile = true: {why}; set it to false") from error
        print(f"not compiled; {why}")
        return False
    return training.compile is True or compiled * LEAST_GAIN < seconds(False)


def compiled_if(wanted: bool, network: nn.Module) -> nn.Module:
    """Return the network, or a compiled one with the same weights that takes rows of any number and length."""
    return torch.compile(network, dynamic=True) if wanted else network  # type: ignore[return-value]


def seconds_of(
    fabric: Fabric, network: nn.Module, objective: Objective, rows: Rows, training: Training, compiled: bool = False
) -> float:
    """Return the wall seconds of a few training steps of a copy of the network, after as many that do not count."""
    copy = deepcopy(network)
    adam = torch.optim.AdamW(copy.parameters(), lr=1e-6, fused=True)
    model, optimiser = fabric.setup(compiled_if(compiled, copy), adam)
    batches, start = Batches(rows, training.batch, 0, training.parts), 0.0
    model.train()
    for step in range(2 * STEPS):
        loss = add_gradients(fabric, model, objective, batches.at(step), 0, step)
        optimiser.step()
        optimiser.zero_grad()
        if step % STEPS == STEPS - 1:
            float(loss)  # waits for the device
            start, before = time.perf_counter(), start
    return start - before
