"""GPUs that a job was promised and does not see."""

import socket

import pytest
import torch

from pipeline.errors import KinoflowError
from pipeline.networks.devices import check_gpus, seed_dropout


def test_a_job_without_its_gpus_names_the_node_the_job_and_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(KinoflowError) as failed:
        check_gpus(2, "training.resources.gpus")
    words = (
        f"{socket.gethostname()} (SLURM job 4711, CUDA_VISIBLE_DEVICES='0') shows 1 GPUs",
        "training.resources.gpus",
    )
    assert all(word in str(failed.value) for word in words)


def test_outside_of_a_cluster_the_machine_is_named_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    for variable in ("SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(KinoflowError, match=r"\(CUDA_VISIBLE_DEVICES is not set\) shows 0 GPUs"):
        check_gpus(1, "sampling.resources.gpus")


def test_gpus_that_are_there_are_fine_and_a_number_below_zero_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    check_gpus(0, "key")
    check_gpus(2, "key")
    with pytest.raises(KinoflowError, match="below 0; set key"):
        check_gpus(-1, "key")


def test_dropout_is_seeded_as_by_manual_seed() -> None:
    seed_dropout(torch.device("cpu"), 3)
    ours = torch.rand(4)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4), ours)
