"""Training on several nodes of a cluster has the losses of training on one."""

from pathlib import Path

import pandas
from one_node_slurm import one_node_slurm
from pandas.testing import assert_frame_equal
from whole_project import SCALE, copy_to

RUN = f"results/{SCALE}/models/checkerboard/mask_linear"


def test_two_nodes_have_the_losses_of_one(tmp_path: Path) -> None:
    project = copy_to(tmp_path)
    training = "steps: 60, log_every: 10, validate_every: 30, parts: 2"
    histories = []
    with one_node_slurm(nodes=2):
        for nodes in (1, 2):
            asked = f"experiments={{checkerboard: {{training: {{{training}, resources: {{nodes: {nodes}}}}}}}}}"
            result = project.run(
                *("snakemake", f"{RUN}.json", "--profile", "slurm", "--retries", "0", "--forcerun", "train"),
                *("--config", f"scale={SCALE}", asked),
            )
            log = (tmp_path / f"results/{SCALE}/logs/train/checkerboard/mask_linear.log").read_text()
            assert result.returncode == 0, f"{log}\n{result.stdout[-3000:]}"
            assert f"on {nodes} x cpu" in log
            assert nodes == 1 or "going on" not in log
            histories.append(pandas.read_csv(tmp_path / f"{RUN}.csv"))
            for checkpoint in (tmp_path / f"results/{SCALE}/checkpoints").rglob("step-*.pt"):
                checkpoint.unlink()
    assert len(histories[0]) == 6
    assert_frame_equal(*histories, rtol=1e-5)
