"""Training on several devices, here two processes on the CPU: the same losses as on one."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
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
from pipeline.stages.job import RunJob
from pipeline.stages.prepare import prepare as prepare_stage
from pipeline.stages.train import train as train_stage
from pipeline.training.loop import Interrupted, TrainingError
from pipeline.training.processes import launch_command, start_processes

ROOT = Path(__file__).parents[2]
SETTINGS = {"steps": 6, "parts": 4, "checkpoint_every": 4, "log_every": 1, "validate_every": 3}


def on_both(fabric: Fabric, folder: Path) -> None:
    """Train in one folder, and in another until the second process is asked to stop, in the third step."""
    fitted = Problem(folder / "whole").train(fabric=fabric, **SETTINGS)
    torch.save({"network": fitted.network.state_dict(), "history": fitted.history}, folder / f"{fabric.global_rank}.pt")
    problem = Problem(folder / "stopped")

    def stop(losses: Tensor) -> Tensor:
        if fabric.global_rank == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return losses

    with pytest.raises(Interrupted) as stopped:  # of two parts for each process and step
        problem.train(problem.disturbed(5, stop), fabric=fabric, **SETTINGS)
    (folder / f"{fabric.global_rank}.txt").write_text(str(stopped.value))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that two processes have worked in."""
    folder = tmp_path_factory.mktemp("two")
    Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn").launch(on_both, folder)
    return folder


def test_two_processes_have_the_losses_and_weights_of_one(two: Path, tmp_path: Path) -> None:
    first, second = (torch.load(two / f"{rank}.pt", weights_only=True) for rank in (0, 1))
    for name, weights in first["network"].items():
        assert torch.equal(weights, second["network"][name]), name
    assert first["history"] == second["history"]
    alone = Problem(tmp_path).train(**SETTINGS)
    assert_close(first["network"], alone.network.state_dict(), rtol=1e-5, atol=1e-7)
    assert_frame_equal(pandas.DataFrame(alone.history), pandas.DataFrame(first["history"]), rtol=1e-5)
    kept = [path.name for path in Problem(two / "whole").checkpoints().paths()]
    assert kept == ["step-000000004.pt", "step-000000006.pt"]


def test_when_one_process_is_asked_to_stop_both_do_and_a_checkpoint_is_written(two: Path) -> None:
    said = [(two / f"{rank}.txt").read_text() for rank in (0, 1)]
    again = "stopped after step 3; run it again to go on"
    assert said == [f"another process was asked to stop: {again}", f"SIGTERM: {again}"]
    assert [path.name for path in Problem(two / "stopped").checkpoints().paths()] == ["step-000000003.pt"]


class Command:
    """The command that trains, as users run it, as it starts itself on two devices; on the CPU."""

    def __init__(self, config: Path, folder: Path) -> None:
        self.folder = folder
        files = [f"--{file}={folder / file}" for file in ("checkpoints", "weights", "metrics", "history")]
        asked = ["train", f"--config={config}", "--experiment=checkerboard", "--run=metric", "--gpus=0"]
        self.command = launch_command(2, 1, [*asked, f"--tokens={folder / 'tokens'}", *files])

    def start(self) -> "subprocess.Popen[str]":
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(self.command, cwd=ROOT, env=environment, text=True, **output)

    def run(self) -> str:
        with self.start() as process:
            said, _ = process.communicate()
        assert process.returncode == 0, said
        assert "on 2 x cpu" in said
        return said


def test_two_processes_that_are_asked_to_stop_write_a_checkpoint_and_go_on_from_it_as_one_would(
    tiny_file: Callable[..., Path], tmp_path: Path
) -> None:
    training = {"parts": 2, "steps": 600, "checkpoint_every": 50, "validate_every": 600, "log_every": 100}
    path = tiny_file({"experiments": {"checkerboard": {"training": training}}})
    job, tokens = RunJob(load_config(path), "checkerboard", "metric"), tmp_path / "tokens"
    prepare_stage(job, output=tokens)
    alone = {name: tmp_path / "alone" / name for name in ("checkpoints", "weights", "metrics", "history")}
    train_stage(job, tokens=tokens, **alone)

    two = Command(path, tmp_path)
    with two.start() as process:
        while process.poll() is None and not list((two.folder / "checkpoints").glob("*/step-*.pt")):
            time.sleep(0.05)
        process.terminate()
        said, _ = process.communicate()
    assert process.returncode != 0
    stopped = re.search(r"SIGTERM: stopped after step (\d+); run it again to go on", said)
    assert stopped is not None, said
    assert f"going on from step {stopped[1]} in" in two.run()
    one, other = (pandas.read_csv(history) for history in (alone["history"], two.folder / "history"))
    assert len(one) == 6
    assert_frame_equal(one, other, rtol=1e-5)


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
