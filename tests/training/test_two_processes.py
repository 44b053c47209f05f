"""Training on several devices, here two processes on the CPU: the same losses as on one."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas
import pytest
import torch
from lightning_fabric import Fabric
from pandas.testing import assert_frame_equal
from small_problem import Problem
from torch import Tensor
from torch.testing import assert_close

from pipeline.config.loading import load_config
from pipeline.errors import KinoflowError
from pipeline.stages.job import Job
from pipeline.stages.prepare import prepare as prepare_stage
from pipeline.training.errors import Interrupted, TrainingError
from pipeline.training.processes import launch_command, start_processes

ROOT = Path(__file__).parents[2]
SETTINGS = {"steps": 6, "parts": 4, "checkpoint_every": 4, "log_every": 1, "validate_every": 3}


def train(fabric: Fabric, folder: Path) -> None:
    fitted = Problem(folder).train(fabric=fabric, **SETTINGS)
    torch.save({"network": fitted.network.state_dict(), "history": fitted.history}, folder / f"{fabric.global_rank}.pt")


def test_two_processes_have_the_losses_and_weights_of_one(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn").launch(train, tmp_path / "two")
    first, second = (torch.load(tmp_path / f"two/{rank}.pt", weights_only=True) for rank in (0, 1))
    for name, weights in first["network"].items():
        assert torch.equal(weights, second["network"][name]), name
    assert first["history"] == second["history"]
    alone = Problem(tmp_path).train(**SETTINGS)
    assert_close(first["network"], alone.network.state_dict(), rtol=1e-5, atol=1e-7)
    assert_frame_equal(pandas.DataFrame(alone.history), pandas.DataFrame(first["history"]), rtol=1e-5)
    kept = [path.name for path in Problem(tmp_path / "two").checkpoints().paths()]
    assert kept == ["step-000000004.pt", "step-000000006.pt"]


def stop_one(fabric: Fabric, folder: Path) -> None:
    problem = Problem(folder)

    def stop(losses: Tensor) -> Tensor:
        if fabric.global_rank == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return losses

    with pytest.raises(Interrupted) as stopped:  # in the third step, of two parts for each process
        problem.train(problem.disturbed(5, stop), fabric=fabric, **SETTINGS)
    (folder / f"{fabric.global_rank}.txt").write_text(str(stopped.value))


def test_when_one_process_is_asked_to_stop_both_do_and_a_checkpoint_is_written(tmp_path: Path) -> None:
    Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn").launch(stop_one, tmp_path)
    said = [(tmp_path / f"{rank}.txt").read_text() for rank in (0, 1)]
    again = "stopped after step 3; run it again to go on"
    assert said == [f"another process was asked to stop: {again}", f"SIGTERM: {again}"]
    assert [path.name for path in Problem(tmp_path).checkpoints().paths()] == ["step-000000003.pt"]


@dataclass(frozen=True)
class Command:
    """The command that trains, as users run it: by itself, or as it starts itself on two devices; on the CPU."""

    config: Path
    folder: Path

    def start(self, processes: int) -> "subprocess.Popen[str]":
        files = [f"--{file}={self.folder / file}" for file in ("checkpoints", "weights", "metrics", "history")]
        asked = ["train", f"--config={self.config}", "--experiment=checkerboard", "--run=metric", "--gpus=0"]
        asked += [f"--tokens={self.folder.parent / 'tokens'}", *files]
        command = [sys.executable, "-m", "pipeline", *asked] if processes == 1 else launch_command(processes, 1, asked)
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **output)

    def run(self, processes: int) -> str:
        with self.start(processes) as process:
            said, _ = process.communicate()
        assert process.returncode == 0, said
        assert f"on {processes} x cpu" in said
        return said

    @property
    def history(self) -> pandas.DataFrame:
        return pandas.read_csv(self.folder / "history")


def commands(config: Path, folder: Path) -> tuple[Command, Command]:
    """Return the command with the same data and files of its own, twice."""
    prepare_stage(Job(load_config(config), "checkerboard"), output=folder / "tokens")
    return Command(config, folder / "one"), Command(config, folder / "two")


def test_the_command_trains_on_two_processes_as_on_one(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    config = tiny_file({"experiments": {"checkerboard": {"training": {"parts": 2, "log_every": 1}}}})
    one, two = commands(config, tmp_path)
    one.run(1)
    two.run(2)
    assert len(one.history) == 20
    assert_frame_equal(one.history, two.history, rtol=1e-5)


def test_two_processes_that_are_asked_to_stop_write_a_checkpoint_and_go_on_from_it(
    tiny_file: Callable[..., Path], tmp_path: Path
) -> None:
    training = {"parts": 2, "steps": 600, "checkpoint_every": 50, "validate_every": 600, "log_every": 100}
    one, two = commands(tiny_file({"experiments": {"checkerboard": {"training": training}}}), tmp_path)
    one.run(1)
    with two.start(2) as process:
        while process.poll() is None and not list((two.folder / "checkpoints").glob("*/step-*.pt")):
            time.sleep(0.05)
        process.terminate()
        said, _ = process.communicate()
    assert process.returncode != 0
    stopped = re.search(r"SIGTERM: stopped after step (\d+); run it again to go on", said)
    assert stopped is not None, said
    assert f"going on from step {stopped[1]} in" in two.run(2)
    assert_frame_equal(one.history, two.history, rtol=1e-5)


def test_parts_that_the_processes_cannot_share_are_an_error(problem: Problem) -> None:
    class Three(Fabric):
        world_size = 3  # type: ignore[assignment]

    with pytest.raises(TrainingError, match=r"training\.parts = 4: 3 processes"):
        problem.train(fabric=Three(accelerator="cpu", devices=1), parts=4)


def test_on_one_node_torchrun_starts_a_process_for_each_gpu() -> None:
    command = launch_command(8, 1, ["train", "--gpus", "8"])
    assert {"--nnodes=1", "--nproc-per-node=8", "--standalone"} < set(command)
    assert command[-6:] == ["-m", "--", "pipeline", "train", "--gpus", "8"]


def test_on_several_nodes_srun_starts_torchrun_on_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    command = launch_command(4, 2, ["train"])
    assert command[:4] == ["srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1"]
    assert {"--gpus-per-node=4", "--cpus-per-task=4", "--nnodes=2", "--nproc-per-node=4", "--rdzv-id=17"} < set(command)


def test_several_nodes_without_slurm_are_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(KinoflowError, match=r"--nodes 2: there is no SLURM job here.*training\.resources\.nodes"):
        start_processes(0, 2)
