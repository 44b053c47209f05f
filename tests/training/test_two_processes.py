"""Training on several devices, here two processes on the CPU."""

from pathlib import Path

import torch
from lightning_fabric import Fabric
from small_problem import Problem


def train(fabric: Fabric, folder: Path) -> None:
    fitted = Problem(folder).train(fabric=fabric, steps=6, checkpoint_every=4, log_every=1)
    torch.save({"network": fitted.network.state_dict(), "history": fitted.history}, folder / f"{fabric.global_rank}.pt")


def test_both_end_with_the_same_weights_from_different_halves_of_the_batch(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn")
    fabric.launch(train, tmp_path)
    one, other = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1))
    for name, weights in one["network"].items():
        assert torch.equal(weights, other["network"][name]), name
    assert [row["loss"] for row in one["history"]] != [row["loss"] for row in other["history"]]
    assert [row["gradient_norm"] for row in one["history"]] == [row["gradient_norm"] for row in other["history"]]
    assert [path.name for path in Problem(tmp_path).checkpoints().paths()] == ["step-000000004.pt"]
