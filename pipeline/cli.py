"""The command line, `python -m pipeline <stage> ...`: one command a stage, the same that the workflow's rules call."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline import commands
from pipeline.config import REFERENCES
from pipeline.flow.errors import KinoflowError

Command = Callable[[argparse.Namespace], None]
ERROR = 2  # exit status of an error that is explained in one message


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parsed = parser().parse_args(arguments)
    try:
        parsed.command(parsed)
    except (KinoflowError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return ERROR
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    root = argparse.ArgumentParser(prog="python -m pipeline", description="Discrete flow matching, stage by stage.")
    stages = root.add_subparsers(title="commands", required=True, metavar="<command>")

    def add(name: str, command: Command, summary: str, detail: str) -> argparse.ArgumentParser:
        stage = stages.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}. {detail}")
        stage.set_defaults(command=command)
        return stage

    stage = add(
        "prepare",
        commands.prepare,
        "prepare the tokens of an experiment",
        "Reads files of the cache if its data set needs any; writes train, validation and test tokens.",
    )
    _of_experiment(stage)
    _output(stage, "--output", "tokens to write (.safetensors)")

    stage = add(
        "train",
        commands.train,
        "train the network of a run",
        "Reads tokens; writes the averaged weights, metrics and history. Goes on from the latest checkpoint.",
    )
    _of_run(stage)
    _input(stage, "--tokens", "tokens from `prepare`")
    _output(stage, "--checkpoints", "folder of checkpoints, emptied when training is finished")
    _output(stage, "--weights", "weights to write (.safetensors)")
    _output(stage, "--metrics", "last losses to write (.json)")
    _output(stage, "--history", "losses along the training to write (.csv)")
    _gpus(stage)

    stage = add(
        "sample",
        commands.sample,
        "draw one shard of the samples of a run",
        "Reads tokens and weights; writes samples. All shards together do not depend on their number.",
    )
    _of_run(stage)
    _input(stage, "--tokens", "tokens from `prepare`")
    _input(stage, "--weights", "weights from `train`")
    stage.add_argument("--shard", type=int, default=0, help="number of this shard, from 0 (default: 0)")
    stage.add_argument("--shards", type=int, default=1, help="number of shards (default: 1)")
    _output(stage, "--output", "samples to write (.safetensors)")
    _gpus(stage)

    stage = add("gather", commands.gather, "join the shards of a run", "Reads samples of all shards; writes one file.")
    stage.add_argument("--shards", type=Path, nargs="+", required=True, help="samples from `sample`, in their order")
    _output(stage, "--output", "samples to write (.safetensors)")

    stage = add(
        "reference",
        commands.reference,
        "draw reference samples from the data",
        "Reads tokens; writes held-out data, or training data whose columns were shuffled independently.",
    )
    _of_experiment(stage)
    stage.add_argument("--reference", choices=sorted(REFERENCES), required=True, help="which reference")
    _input(stage, "--tokens", "tokens from `prepare`")
    _output(stage, "--output", "samples to write (.safetensors)")

    stage = add(
        "score",
        commands.score,
        "score samples with the metrics of an experiment",
        "Reads samples, tokens and, for likelihoods, weights; writes a flat dictionary of numbers.",
    )
    _of_experiment(stage)
    _input(stage, "--samples", "samples from `sample`, `gather` or `reference`")
    _input(stage, "--tokens", "tokens from `prepare`")
    stage.add_argument("--weights", type=Path, help="weights from `train`; a reference has none")
    _output(stage, "--output", "scores to write (.json)")

    stage = add(
        "table",
        commands.table,
        "make the table of an experiment",
        "Reads scores; writes one row a run and reference. A run without scores is shown as not run.",
    )
    _of_experiment(stage)
    stage.add_argument("--scores", type=Path, nargs="*", default=[], help="scores from `score`")
    _output(stage, "--csv", "table to write, with all digits")
    _output(stage, "--markdown", "table to write, rounded")

    stage = add(
        "figure", commands.figure, "draw the figure of an experiment", "Reads samples and tokens; writes a picture."
    )
    _of_experiment(stage)
    stage.add_argument("--samples", type=Path, nargs="+", required=True, help="samples of runs and references")
    _input(stage, "--tokens", "tokens from `prepare`")
    _output(stage, "--output", "picture to write (.png)")

    stage = add(
        "fetch",
        commands.fetch,
        "fetch files of the catalogue, or list it",
        "Writes verified files to the cache; without names, prints what there is.",
    )
    stage.add_argument("names", nargs="*", metavar="NAME", help="a file or a group of files of the catalogue")
    _config(stage)
    stage.add_argument("--cache", type=Path, help="folder of fetched files (default: data.cache)")
    stage.add_argument("--mirror", type=Path, help="folder with copies (default: data.mirror)")
    stage.add_argument("--order", nargs="+", metavar="SOURCE", help="kinds of sources to try (default: data.order)")

    stage = add("check", commands.check, "check a configuration and print it with all defaults", "Writes nothing.")
    _config(stage)

    stage = add("schema", commands.schema, "write the JSON schema of the configuration", "Made from the code.")
    stage.add_argument("--output", type=Path, help="file to write (default: standard output)")
    return root


def _config(stage: argparse.ArgumentParser) -> None:
    stage.add_argument("--config", type=Path, default=Path("config/demo.yaml"), help="YAML file (default: %(default)s)")
    stage.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="values over those of the file, e.g. experiments.checkerboard.training.steps=100",
    )


def _of_experiment(stage: argparse.ArgumentParser) -> None:
    _config(stage)
    stage.add_argument("--experiment", required=True, help="name of the experiment in the configuration")


def _of_run(stage: argparse.ArgumentParser) -> None:
    _of_experiment(stage)
    stage.add_argument("--run", required=True, help="name of the run in the experiment")


def _input(stage: argparse.ArgumentParser, flag: str, help_text: str) -> None:
    stage.add_argument(flag, type=Path, required=True, help=help_text)


_output = _input


def _gpus(stage: argparse.ArgumentParser) -> None:
    stage.add_argument("--gpus", type=int, default=0, help="GPUs to use (default: 0, the CPU)")
