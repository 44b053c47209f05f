"""Arguments that several commands take."""

import argparse
from pathlib import Path


def count(text: str) -> int:
    """Return a number of things, which is not below zero."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value} is below 0")
    return value


def positive(text: str) -> int:
    """Return a number of things, of which there is at least one."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value


def config_file(stage: argparse.ArgumentParser) -> None:
    stage.add_argument("--config", type=Path, default=Path("config/demo.yaml"), help="YAML file (default: %(default)s)")
    stage.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="values over those of the file, e.g. experiments.checkerboard.training.steps=100",
    )


def of_experiment(stage: argparse.ArgumentParser) -> None:
    config_file(stage)
    stage.add_argument("--experiment", required=True, help="name of the experiment in the configuration")


def of_run(stage: argparse.ArgumentParser) -> None:
    of_experiment(stage)
    stage.add_argument("--run", required=True, help="name of the run in the experiment")


def input_file(stage: argparse.ArgumentParser, flag: str, help_text: str) -> None:
    stage.add_argument(flag, type=Path, required=True, help=help_text)


output_file = input_file


def gpu_count(stage: argparse.ArgumentParser) -> None:
    stage.add_argument("--gpus", type=int, default=0, help="GPUs to use (default: 0, the CPU)")


def device_counts(stage: argparse.ArgumentParser) -> None:
    stage.add_argument("--gpus", type=count, default=0, help="GPUs to use on each node (default: 0, the CPU)")
    stage.add_argument("--nodes", type=positive, default=1, help="nodes of the SLURM job to use (default: 1)")


def journal_folder(stage: argparse.ArgumentParser) -> None:
    stage.add_argument("--journal", type=Path, help="folder of what is finished, to go on from (default: none is kept)")


def shard_numbers(stage: argparse.ArgumentParser) -> None:
    stage.add_argument("--shard", type=int, default=0, help="number of this shard, from 0 (default: 0)")
    stage.add_argument("--shards", type=int, default=1, help="number of shards (default: 1)")
