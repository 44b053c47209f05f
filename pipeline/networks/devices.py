"""The devices of this machine."""

import os
import socket

import torch

from pipeline.errors import KinoflowError


def check_gpus(gpus: int, key: str) -> None:
    """Raise unless the machine has the GPUs that `key` of the configuration promises to a job."""
    if gpus < 0:
        raise KinoflowError(f"--gpus {gpus}: below 0; set {key} to 0 or more")
    if gpus > (seen := torch.cuda.device_count()):
        raise KinoflowError(
            f"--gpus {gpus}: {place()} shows {seen} GPUs to this job; set {key} to what its nodes have, or send such "
            "jobs to nodes with GPUs (set-resources in workflow/profiles/slurm/config.yaml)"
        )


def seed_dropout(device: torch.device, seed: int) -> None:
    """Seed the generator that dropout draws from on a device.

    `torch.manual_seed` seeds those of all devices, and looks up the call stack for each kind of device.
    """
    on_gpu = device.type == "cuda"
    generator = torch.cuda.default_generators[device.index or 0] if on_gpu else torch.default_generator
    generator.manual_seed(seed)


def place() -> str:
    """Return the name of this machine, the number of the SLURM job if there is one, and the visible devices."""
    job = os.environ.get("SLURM_JOB_ID")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    details = [f"SLURM job {job}"] if job else []
    details.append("CUDA_VISIBLE_DEVICES is not set" if visible is None else f"CUDA_VISIBLE_DEVICES={visible!r}")
    return f"{socket.gethostname()} ({', '.join(details)})"
