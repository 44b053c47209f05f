"""All experiments on a SLURM of one node, with two jobs killed midway, end as they do without a cluster."""

import re
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from interruptions import Interruption, run_interrupted
from project import Project
from whole_project import SCALE, copy_to

PROFILE = "workflow/profiles/slurm/config.yaml"
RESULTS = f"results/{SCALE}"
TRAINED, RELAXED = "checkerboard/mask_linear", "materials/data/0-of-2"


def has_checkpoint(folder: Path) -> bool:
    return any((folder / RESULTS / "checkpoints" / TRAINED).glob("*/step-*.pt"))


def has_relaxed_one(folder: Path) -> bool:
    """Return whether the journal has its first line, which says what it is of, and another."""
    journal = folder / RESULTS / "journals/relax" / RELAXED / "finished.jsonl"
    try:
        return journal.read_bytes().count(b"\n") >= 2
    except FileNotFoundError:
        return False


@dataclass(frozen=True)
class ClusterRun:
    """A run on the cluster that has ended."""

    folder: Path
    output: str
    training: Interruption
    relaxation: Interruption


@pytest.fixture(scope="module")
def on_cluster(slurm: Path, tmp_path_factory: pytest.TempPathFactory) -> ClusterRun:
    """The run with `--profile slurm`; training jobs get the fake GPU, though they compute on the CPU."""
    project = copy_to(tmp_path_factory.mktemp("on_cluster"))
    profile = yaml.safe_load((project.folder / PROFILE).read_text())
    profile["set-resources"]["train"] |= {"gres": "gpu:fake:1", "slurm_partition": "gpu"}
    (project.folder / PROFILE).write_text(yaml.safe_dump(profile))
    training = Interruption(f"rule_train_wildcards_{TRAINED.replace('/', '_')}", "TERM", has_checkpoint)
    relaxation = Interruption("rule_relax_wildcards_materials_data_0_2", "KILL", has_relaxed_one)
    arguments = ["--profile", "slurm", "--config", f"scale={SCALE}"]
    code, output = run_interrupted(project, arguments, [training, relaxation])
    assert code == 0, output[-5000:]
    return ClusterRun(project.folder, output, training, relaxation)


@pytest.fixture(scope="module")
def without_cluster(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_to(tmp_path_factory.mktemp("without_cluster"))
    result = project.snakemake("--cores", "2", "--show-failed-logs", scale=SCALE)
    assert result.returncode == 0, result.stdout[-5000:]
    return project


def test_a_gpu_that_the_job_does_not_see_is_an_error_that_names_the_node(slurm: Path, tmp_path: Path) -> None:
    """The jobs of data, without a GPU, and of training, with one, are in different partitions."""
    project = copy_to(tmp_path)
    edited = (tmp_path / PROFILE).read_text().replace("# gpu_model: a100", "gpu_model: fake")
    (tmp_path / PROFILE).write_text(edited)
    target = f"{RESULTS}/models/{TRAINED}.json"
    asked = "experiments={checkerboard: {training: {resources: {gpus: 1}}}}"
    result = project.run(
        *("snakemake", target, "--profile", "slurm", "--retries", "0", "--config", f"scale={SCALE}", asked)
    )
    assert result.returncode != 0
    message = (tmp_path / RESULTS / f"logs/train/{TRAINED}.log").read_text()
    assert "--gpus 1" in message
    assert socket.gethostname() in message
    assert message.splitlines()[-1] in result.stdout
    preparing, training = (
        subprocess.run(["scontrol", "show", "job", job], capture_output=True, text=True, check=True).stdout
        for job in re.findall(r"SLURM jobid (\d+)", result.stdout)
    )
    assert "Comment=rule_prepare_" in preparing
    assert "Partition=cpu" in preparing
    assert "Comment=rule_train_" in training
    assert "Partition=gpu" in training
    assert "TresPerJob=gres:gpu:fake:1" in training


def test_a_killed_training_job_had_the_gpu_and_went_on_from_its_checkpoint(on_cluster: ClusterRun) -> None:
    killed = on_cluster.training
    assert killed.job, "the training job was not caught midway"
    assert "Partition=gpu" in killed.description
    assert "TresPerNode=gres:gpu:fake:1" in killed.description
    assert f"SLURM-job '{killed.job}' failed" in on_cluster.output
    log = (on_cluster.folder / RESULTS / f"logs/train/{TRAINED}.log").read_text()
    again = re.search(r"going on from step (\d+)", log)
    assert again is not None, log
    assert int(again.group(1)) > 0


def test_a_killed_relaxation_job_did_only_what_its_journal_lacked(on_cluster: ClusterRun) -> None:
    killed = on_cluster.relaxation
    assert killed.job, "the relaxation job was not caught midway"
    assert f"SLURM-job '{killed.job}' failed" in on_cluster.output
    log = (on_cluster.folder / RESULTS / f"logs/relax/{RELAXED}.log").read_text()
    crystals = re.search(r"relaxed (\d+) crystals", log)
    tasks = re.search(r"relaxing: \d+/(\d+) tasks", log)
    assert crystals is not None, log
    assert tasks is not None, log
    assert int(tasks.group(1)) < int(crystals.group(1))


def test_tables_are_those_of_a_run_without_a_cluster_to_the_byte(
    on_cluster: ClusterRun, without_cluster: Project
) -> None:
    ours, theirs = (
        {path.name: path.read_bytes() for path in (folder / RESULTS / "tables").iterdir()}
        for folder in (on_cluster.folder, without_cluster.folder)
    )
    for tables in (ours, theirs):
        for name in [name for name in tables if name.endswith(".provenance.json")]:
            del tables[name]  # they say when and where
    experiments = ("checkerboard", "materials", "text", "pixels", "latents")
    assert {f"{name}.{suffix}" for name in experiments for suffix in ("csv", "md")} <= ours.keys()
    assert ours == theirs


def test_no_job_is_left(on_cluster: ClusterRun) -> None:
    left = subprocess.run(["squeue", "--noheader"], capture_output=True, text=True, check=True)
    assert left.stdout == ""
