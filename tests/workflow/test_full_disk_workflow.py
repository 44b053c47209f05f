"""A disk that gets full under a run stops it; with space again, it goes on and ends as if nothing had been."""

import os
import subprocess
import sys
import time
from pathlib import Path

import yaml
from project import Project
from small_disk import fill, mounted
from tiny import TINY

from pipeline.config.loading import merge

TRAINING = {"steps": 1500, "checkpoint_every": 50, "validate_every": 500, "log_every": 100}


def test_a_run_goes_on_after_a_full_disk_to_the_same_tables(project: Project, tmp_path: Path) -> None:
    folder = project.folder
    experiment = TINY["experiments"]["checkerboard"]
    one_run = {"training": TRAINING, "runs": {"metric": experiment["runs"]["metric"]}}
    shorter = {"experiments": {"checkerboard": merge(experiment | {"runs": {}}, one_run)}}
    (folder / "config/tiny.yaml").write_text(yaml.safe_dump(TINY | shorter))
    calm = project.snakemake("--cores", "2")
    assert calm.returncode == 0, calm.stdout
    expected = (folder / "results/tiny/tables/checkerboard.csv").read_bytes()
    with mounted(tmp_path / "disk", "600m") as disk:
        command = ["snakemake", "--cores", "2", "--rerun-incomplete", "--show-failed-logs"]
        command = [sys.executable, "-m", *command, "--config", "scale=tiny", f"results={disk}"]
        said = tmp_path / "said.txt"
        with said.open("w") as stream:
            run = subprocess.Popen(command, cwd=folder, stdout=stream, stderr=stream)
        while run.poll() is None and not list(disk.glob("tiny/checkpoints/checkerboard/metric/*/step-*.pt")):
            time.sleep(0.02)
        while run.poll() is None:  # again and again: the space of a checkpoint that was pruned, too
            ballast = fill(disk, leave=4096)
            time.sleep(0.1)
        assert run.returncode != 0
        assert os.strerror(28) in said.read_text()  # No space left on device
        assert str(disk / "tiny/checkpoints") in said.read_text()
        ballast.unlink()
        again = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert again.returncode == 0, again.stdout + again.stderr
        log = (disk / "tiny/logs/train/checkerboard/metric.log").read_text()
        assert "going on from step" in log
        assert (disk / "tiny/tables/checkerboard.csv").read_bytes() == expected
