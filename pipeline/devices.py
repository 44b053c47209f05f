"""The devices of this machine."""

import torch

from pipeline.flow.errors import KinoflowError


def check_gpus(gpus: int, key: str) -> None:
    """Raise unless the machine has as many GPUs as a job was promised by `key` of the configuration."""
    if not 0 <= gpus <= torch.cuda.device_count():
        there = torch.cuda.device_count()
        raise KinoflowError(f"--gpus {gpus}: there are {there} GPUs here; set {key} to match")
