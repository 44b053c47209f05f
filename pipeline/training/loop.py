"""The training loop, for every network and objective.

The batch, the noise and the dropout of a step are functions of (seed, step), never of what was drawn before. So on a
CPU, a run that was stopped and resumed gives the same bits as one that was not. A batch is computed in `parts`, each
with its own noise. Which device computes a part changes only the order of sums: a run has the same losses, up to
rounding, on any number of devices. One process does not wait for its device in a step: losses are read when they are
logged, and before a checkpoint is written. Several processes ask each other in each step whether to stop.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from pipeline.config import Training
from pipeline.errors import KinoflowError
from pipeline.store.progress import Progress
from pipeline.store.provenance import note_resumption
from pipeline.store.seeds import derive_seed
from pipeline.training.arithmetic import compiled_if
from pipeline.training.average import MovingAverage
from pipeline.training.batches import Batches, BatchesAhead, Rows
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.gradients import Objective, add_gradients
from pipeline.training.history import Row
from pipeline.training.processes import stop_requests
from pipeline.training.schedule import learning_rate
from pipeline.training.watch import Reading, Watch

FAR = 10.0  # times the loss of the first step; the losses of single batches differ by less


class TrainingError(KinoflowError):
    """Training that cannot go on."""


class Interrupted(TrainingError):
    """Training that was asked to stop and has written a checkpoint; running it again goes on from there."""


@dataclass(frozen=True)
class Fitted:
    """The network with averaged weights, the history of its training, and a warning if its loss ended far too high."""

    network: nn.Module
    history: list[Row]
    warning: str = ""


def fit(
    fabric: Fabric,
    network: nn.Module,
    objective: Objective,
    train: Rows,
    validation: Tensor,
    training: Training,
    seed: int,
    checkpoints: Checkpoints,
    on_checkpoint: Callable[[list[Row]], None] = lambda history: None,
    on_row: Callable[[Row], None] = lambda row: None,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Fitted:
    """Train a network, starting from its latest checkpoint.

    `on_row` gets each new row of the history. `on_checkpoint` gets all rows whenever a checkpoint is written. The steps
    between two readings of the loss run in a block of `around`, for example `deferred_checks`.
    """
    if training.parts % fabric.world_size:
        shared = f"{fabric.world_size} processes cannot share them; set it to a multiple"
        raise TrainingError(f"training.parts = {training.parts}: {shared}")
    adam = torch.optim.AdamW(network.parameters(), betas=training.betas, weight_decay=training.weight_decay, fused=True)
    compiled = compiled_if(training.compile is True, network)
    model, optimiser = fabric.setup(compiled, adam)  # the learning rate is set in each step
    average = MovingAverage(network, training.ema)
    limit = training.gradient_clip or math.inf
    rows_at_once = training.batch // training.parts  # they must fit into memory
    start, history, first = 0, list[Row](), math.nan

    if (saved := checkpoints.latest(training.steps)) is not None:
        for part, state in (("network", network), ("average", average), ("optimiser", optimiser)):
            state.load_state_dict(saved[part])
        start, history, first = saved["step"], saved["history"], saved["first_loss"]
        note_resumption(str(checkpoints.folder))
        fabric.print(f"going on from step {start} in {checkpoints.folder}")
    _check_start(fabric, start, checkpoints)
    if others := checkpoints.others():
        fabric.print(f"checkpoints of other settings, data or code are left in {', '.join(map(str, others))}")
    effective = f"batches of {training.batch} in {training.parts} parts of {rows_at_once}"
    fabric.print(f"{effective}, on {fabric.world_size} x {fabric.device.type}")

    def checkpoint(step: int) -> None:
        if fabric.is_global_zero:
            states: dict[str, Any] = {"network": network.state_dict(), "average": average.state_dict()}
            states |= {"optimiser": optimiser.state_dict(), "history": history, "first_loss": first}
            states |= {"precision": training.precision, "compile": training.compile}
            checkpoints.save(step, states)
            on_checkpoint(history)

    model.train()
    done, stopped, watch, parameters = start, False, Watch(start, fabric.device), list(network.parameters())
    with (
        stop_requests() as request,
        Progress("training", training.steps, start, shown=fabric.is_global_zero) as progress,
        _prepared(Batches(train, training.batch, derive_seed(seed, "batches"), training.parts), fabric) as batches,
    ):
        while done < training.steps and not stopped:
            with _read_at_the_end(watch, around(), training, checkpoints) as readings:
                for step in range(done, _next_reading(done, training)):
                    rate = learning_rate(training, step)
                    for group in optimiser.param_groups:
                        group["lr"] = rate
                    loss = add_gradients(fabric, model, objective, batches.at(step), seed, step)
                    watch.note(loss, nn.utils.clip_grad_norm_(parameters, limit))
                    optimiser.step()
                    optimiser.zero_grad()
                    average.update(step)
                    done = step + 1
                    progress.advance(done, f"loss {history[-1]['loss']:.4f}" if history else "")
                    stopped = fabric.strategy.reduce_boolean_decision(request.signal_name is not None, all=False)
                    if stopped:
                        break

            first = watch.first if math.isnan(first) else first
            validated = done % training.validate_every == 0 or done == training.steps
            if validated or done % training.log_every == 0:
                reading = readings[-1]
                row: Row = {"step": done, "loss": reading.loss, "learning_rate": rate, "gradient_norm": reading.norm}
                row["validation_loss"] = None
                if validated:
                    with fabric.autocast(), around():
                        row["validation_loss"] = validation_loss(average, objective, validation, rows_at_once, seed)
                history.append(row)
                if fabric.is_global_zero:
                    on_row(row)
            if stopped or done % training.checkpoint_every == 0 or done == training.steps:
                checkpoint(done)
        if done < training.steps:
            fabric.barrier()  # or a process that ends would end the one that writes
            why = request.signal_name or "another process was asked to stop"
            raise Interrupted(f"{why}: stopped after step {done}; run it again to go on")
    if warning := _rise(first, history[-1]):
        fabric.print(f"warning: {warning}; lower training.learning_rate ({training.learning_rate})")
    return Fitted(average.module, history, warning)


def _rise(first: float, last: Row) -> str:
    """Return a warning if the loss ended far above that of the first step."""
    end = max(value for value in (last["loss"], last["validation_loss"]) if value is not None)
    return f"the loss rose from {first:.4g} to {end:.4g}" if end > FAR * max(1.0, abs(first)) else ""


def _prepared(batches: Batches, fabric: Fabric) -> AbstractContextManager[Batches | BatchesAhead]:
    return BatchesAhead(batches) if fabric.device.type == "cuda" else nullcontext(batches)


def _next_reading(done: int, training: Training) -> int:
    """Return the next step after which the loss is read: to be logged, or before a checkpoint is written."""
    every = (training.log_every, training.validate_every, training.checkpoint_every)
    return min(training.steps, *((done // steps + 1) * steps for steps in every))


@contextmanager
def _read_at_the_end(
    watch: Watch, around: AbstractContextManager[None], training: Training, checkpoints: Checkpoints
) -> Iterator[list[Reading]]:
    """Run steps that do not wait for the device, then see whether all went well; the list gets the last reading."""
    readings: list[Reading] = []
    try:
        with around:
            yield readings
    except KinoflowError as error:
        if watch.read().diverged:  # numbers that are not finite break other things, too
            raise TrainingError(_diverged(watch.read(), training, checkpoints)) from error
        raise
    readings.append(watch.read())
    if readings[-1].diverged:
        raise TrainingError(_diverged(readings[-1], training, checkpoints))


@torch.no_grad()
def validation_loss(network: nn.Module, objective: Objective, tokens: Tensor, batch: int, seed: int) -> float:
    """Return the mean loss over a data set, with the same times and noise in every call."""
    network.eval()
    device = next(network.parameters()).device
    total = torch.zeros((), dtype=torch.float64, device=device)
    generator = torch.Generator(device).manual_seed(derive_seed(seed, "validation"))
    for rows in tokens.split(batch):
        total += objective(network, rows.long(), generator).double().mean() * len(rows)
    return float(total) / len(tokens)


def _check_start(fabric: Fabric, start: int, checkpoints: Checkpoints) -> None:
    """Raise unless all processes have found the same checkpoint."""
    found = torch.as_tensor(fabric.all_gather(torch.tensor(start))).flatten().tolist()
    if len(set(found)) > 1:
        seen = f"the processes see checkpoints of different steps ({', '.join(map(str, found))})"
        raise TrainingError(f"{checkpoints.folder}: {seen}; try again")


def _diverged(reading: Reading, training: Training, checkpoints: Checkpoints) -> str:
    last = checkpoints.paths()[-1] if checkpoints.paths() else "none yet"
    return (
        f"training diverged in step {reading.step}: loss {reading.loss}, gradient norm {reading.norm}. Lower "
        f"training.learning_rate ({training.learning_rate}) or training.gradient_clip ({training.gradient_clip}). "
        f"Last good checkpoint: {last}"
    )
