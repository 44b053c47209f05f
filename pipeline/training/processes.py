"""The processes of one training: how they start, on one node or several, which devices they use, and how they stop.

`torchrun` starts one process per device of a node, and finds the other nodes. On several nodes, SLURM's `srun` starts
`torchrun` on each. Each process finds its rank in its environment.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.torchelastic import TorchElasticEnvironment

from pipeline.config import Training
from pipeline.errors import KinoflowError
from pipeline.networks.devices import check_gpus

DAY = 24 * 60 * 60
SIGNALS = (signal.SIGTERM, signal.SIGINT)  # the end of an allocation, Ctrl-C


def start_processes(gpus: int, nodes: int) -> None:
    """Restart this command as one process per device of all nodes, unless it is one of these or one is enough.

    `gpus` is the number of GPUs per node; 0: one process per node, on the CPU.
    """
    if max(gpus, nodes) > 1 and not TorchElasticEnvironment.detect():
        command = launch_command(gpus, nodes, sys.argv[1:])
        os.execvp(command[0], command)  # takes the place of this process, and so gets its signals


def launch_command(gpus: int, nodes: int, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs the package with `arguments` once per GPU, or once per node without GPUs."""
    each = max(1, gpus)
    torchrun = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={nodes}", f"--nproc-per-node={each}"]
    torchrun += [f"--shutdown-timeout={DAY}"]  # not 30 s: the scheduler decides how long a checkpoint may take
    package = ["-m", "--", __package__.split(".")[0], *arguments]  # or torchrun would take our --run for its own
    if nodes == 1:
        return [*torchrun, "--standalone", *package]
    if (job := os.environ.get("SLURM_JOB_ID")) is None:
        raise KinoflowError(
            f"--nodes {nodes}: there is no SLURM job here whose nodes could be used; run the workflow with "
            "`snakemake --profile slurm`, or set training.resources.nodes to 1"
        )
    # In a SLURM allocation this runs on the first node, where the processes meet.
    meeting = f"--rdzv-endpoint={socket.gethostname()}:{_free_port()}"
    srun = ["srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--kill-on-bad-exit=1"]
    srun += [f"--cpus-per-task={each}"]  # srun does not take this from the allocation
    srun += [f"--gpus-per-node={gpus}"] if gpus else []
    return [*srun, *torchrun, "--rdzv-backend=c10d", f"--rdzv-id={job}", meeting, *package]


def new_fabric(training: Training, gpus: int, key: str, *, unused: bool = False) -> Fabric:
    """Return the devices to train on: one CPU or GPU per process; `key` of the configuration sets the number of GPUs.

    `unused` allows parameters without a gradient in some steps. The precision `auto` is float32 here.
    """
    on_node, processes = (int(os.environ.get(name, 1)) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    check_gpus(on_node if gpus else 0, key)
    if gpus:  # "high": products of float32 by TF32
        torch.set_float32_matmul_precision("high" if training.precision == "tf32" else "highest")
    distributed = "ddp_find_unused_parameters_true" if unused else "ddp"
    return Fabric(
        accelerator="cuda" if gpus else "cpu",
        devices=on_node,
        num_nodes=processes // on_node,
        strategy=distributed if processes > 1 else "auto",
        precision="bf16-mixed" if training.precision == "bf16-mixed" else "32-true",
    )


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("", 0))
        return int(listening.getsockname()[1])


@dataclass
class StopRequest:
    """The name of the signal that asked to stop, if one did."""

    signal_name: str | None = None


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Catch the signals while the block runs; the first sets the flag, a second Ctrl-C acts as usual.

    A second SIGTERM does nothing: at a time limit, SLURM sends one to the step and another by way of `srun`.
    """
    request = StopRequest()
    previous = {number: signal.getsignal(number) for number in SIGNALS}

    def note(number: int, frame: FrameType | None) -> None:
        request.signal_name = signal.Signals(number).name
        signal.signal(signal.SIGINT, previous[signal.SIGINT])

    for number in SIGNALS:
        signal.signal(number, note)
    try:
        yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
