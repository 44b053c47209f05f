"""The processes of one training: how they are started, on one node or on several, and the devices that they have.

`torchrun` starts a process for each device of a node, and finds the other nodes; on several nodes, SLURM's `srun`
starts it on each. A process that was started so finds its place in its environment.
"""

import os
import socket
import sys
from collections.abc import Sequence

from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.torchelastic import TorchElasticEnvironment

from pipeline.config import Training
from pipeline.errors import KinoflowError
from pipeline.networks.devices import check_gpus

DAY = 24 * 60 * 60


def start_processes(gpus: int, nodes: int) -> None:
    """Let this command be run by a process for each device of all nodes; return in these, or if it is the only one.

    `gpus` are those of each node; 0: a process a node, on the CPU.
    """
    if max(gpus, nodes) > 1 and not TorchElasticEnvironment.detect():
        command = launch_command(gpus, nodes, sys.argv[1:])
        os.execvp(command[0], command)  # in its place, so that it gets the signals that are meant for this one


def launch_command(gpus: int, nodes: int, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs the package with `arguments` once for each of the `gpus` of each of the nodes."""
    each = max(1, gpus)
    torchrun = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={nodes}", f"--nproc-per-node={each}"]
    torchrun += [f"--shutdown-timeout={DAY}"]  # not 30 s: a checkpoint has as long as whoever asked to stop gives it
    package = ["-m", "--", __package__.split(".")[0], *arguments]  # or torchrun would take our --run for one of its own
    if nodes == 1:
        return [*torchrun, "--standalone", *package]
    if (job := os.environ.get("SLURM_JOB_ID")) is None:
        raise KinoflowError(
            f"--nodes {nodes}: there is no SLURM job here whose nodes could be used; run the workflow with "
            "`snakemake --profile slurm`, or set training.resources.nodes to 1"
        )
    # In an allocation of SLURM this runs on the first node, where the processes are to meet.
    meeting = f"--rdzv-endpoint={socket.gethostname()}:{_free_port()}"
    srun = ["srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--kill-on-bad-exit=1"]
    srun += [f"--cpus-per-task={each}"]  # which srun does not take from the allocation
    srun += [f"--gpus-per-node={gpus}"] if gpus else []
    return [*srun, *torchrun, "--rdzv-backend=c10d", f"--rdzv-id={job}", meeting, *package]


def new_fabric(training: Training, gpus: int, key: str, *, unused: bool = False) -> Fabric:
    """Return the devices to train on: a CPU or a GPU for each process of this training; `key` is where GPUs are set.

    `unused` parameters, which have no gradient in some steps, are to be expected.
    """
    on_node, processes = (int(os.environ.get(name, 1)) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    check_gpus(on_node if gpus else 0, key)
    distributed = "ddp_find_unused_parameters_true" if unused else "ddp"
    return Fabric(
        accelerator="cuda" if gpus else "cpu",
        devices=on_node,
        num_nodes=processes // on_node,
        strategy=distributed if processes > 1 else "auto",
        precision=training.precision,
    )


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("", 0))
        port: int = listening.getsockname()[1]
        return port
