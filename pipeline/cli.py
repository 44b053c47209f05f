"""The command line, `python -m pipeline <stage> ...`: one command a stage, the same that the workflow's rules call."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline import commands
from pipeline.cli_arguments import (
    config_file,
    device_counts,
    gpu_count,
    input_file,
    journal_folder,
    of_experiment,
    of_run,
    output_file,
    shard_numbers,
)
from pipeline.cli_crystals import add_crystal_commands
from pipeline.cli_errors import message_of
from pipeline.cli_images import add_image_commands
from pipeline.cli_plan import add_plan_command
from pipeline.cli_text import add_text_commands
from pipeline.cli_workflow import add_workflow_commands
from pipeline.config import REFERENCES
from pipeline.errors import KinoflowError
from pipeline.store import process_record as process

Command = Callable[[argparse.Namespace], None]
ERROR = 2  # exit status of an error that is explained in one message


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parsed = parser().parse_args(given)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # for those who follow a log, and for what a kill would lose
    process.set_command(given)
    try:
        parsed.command(parsed)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (KinoflowError, OSError) as error:
        print(f"error: {message_of(error)}", file=sys.stderr)
        return ERROR
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
    of_experiment(stage)
    output_file(stage, "--output", "tokens to write (.safetensors)")
    stage.add_argument(
        "--rows", type=Path, help="table of a data set's structures to write (.parquet), of crystals only"
    )

    stage = add(
        "train",
        commands.train,
        "train the network of a run",
        "Reads tokens; writes the averaged weights, metrics and history. Goes on from the latest checkpoint.",
    )
    of_run(stage)
    input_file(stage, "--tokens", "tokens from `prepare`")
    output_file(stage, "--checkpoints", "folder of checkpoints, which are kept")
    output_file(stage, "--weights", "weights to write (.safetensors)")
    output_file(stage, "--metrics", "last losses to write (.json)")
    output_file(stage, "--history", "losses along the training to write (.csv)")
    stage.add_argument("--events", type=Path, help="folder for TensorBoard (default: none is written)")
    device_counts(stage)

    stage = add(
        "sample",
        commands.sample,
        "draw one shard of the samples of a run",
        "Reads tokens and weights; writes samples. All shards together do not depend on their number.",
    )
    of_run(stage)
    input_file(stage, "--tokens", "tokens from `prepare`")
    input_file(stage, "--weights", "weights from `train`")
    stage.add_argument("--search", type=Path, help="file from `search`, of a run that takes its sampling from there")
    shard_numbers(stage)
    journal_folder(stage)
    output_file(stage, "--output", "samples to write (.safetensors)")
    gpu_count(stage)

    stage = add("gather", commands.gather, "join the shards of a run", "Reads samples of all shards; writes one file.")
    stage.add_argument("--shards", type=Path, nargs="+", required=True, help="samples from `sample`, in their order")
    output_file(stage, "--output", "samples to write (.safetensors)")

    stage = add(
        "reference",
        commands.reference,
        "draw reference samples from the data",
        "Reads tokens; writes held-out data, or training data whose columns were shuffled independently.",
    )
    of_experiment(stage)
    stage.add_argument("--reference", choices=sorted(REFERENCES), required=True, help="which reference")
    input_file(stage, "--tokens", "tokens from `prepare`")
    output_file(stage, "--output", "samples to write (.safetensors)")

    stage = add(
        "score",
        commands.score,
        "score samples with the metrics of an experiment",
        "Reads samples, tokens and, for likelihoods, weights; writes a flat dictionary of numbers.",
    )
    of_experiment(stage)
    input_file(stage, "--samples", "samples from `sample`, `gather` or `reference`")
    input_file(stage, "--tokens", "tokens from `prepare`")
    stage.add_argument("--weights", type=Path, help="weights from `train`; a reference has none")
    stage.add_argument("--judge-weights", type=Path, help="weights of the run that judges text, if one does")
    stage.add_argument("--described", type=Path, help="table from `describe`, of crystals only")
    stage.add_argument("--structures", type=Path, help="table from `assess`, of crystals only")
    stage.add_argument("--test", type=Path, help="table of the test structures from `describe`, of crystals only")
    stage.add_argument("--pictures", type=Path, help="pictures from `pictures`, of images only")
    stage.add_argument("--image-reference", type=Path, help="description from `image-reference`, of images only")
    stage.add_argument("--classifier", type=Path, help="weights from `train-classifier`, if its features are used")
    journal_folder(stage)
    output_file(stage, "--output", "scores to write (.json)")
    gpu_count(stage)

    stage = add(
        "table",
        commands.table,
        "make the table of an experiment",
        "Reads scores; writes one row a run and reference. A run without scores is shown as not run.",
    )
    of_experiment(stage)
    stage.add_argument("--scores", type=Path, nargs="*", default=[], help="scores from `score`")
    output_file(stage, "--csv", "table to write, with all digits")
    output_file(stage, "--markdown", "table to write, rounded")
    output_file(stage, "--numbers", "numbers of our rows to write, to compare versions by (.json)")

    stage = add(
        "figure", commands.figure, "draw the figure of an experiment", "Reads samples and tokens; writes a picture."
    )
    of_experiment(stage)
    stage.add_argument("--samples", type=Path, nargs="+", required=True, help="samples of runs and references")
    for flag, origin in (("--structures", "assess"), ("--relaxed", "gather-relaxed")):
        help_text = f"tables from `{origin}` in the order of the samples, of crystals only"
        stage.add_argument(flag, type=Path, nargs="*", default=[], help=help_text)
    stage.add_argument("--scores", type=Path, nargs="*", default=[], help="scores in the order of the samples")
    stage.add_argument("--pictures", type=Path, nargs="*", default=[], help="pictures in their order, of images only")
    input_file(stage, "--tokens", "tokens from `prepare`")
    output_file(stage, "--output", "picture to write (.png)")

    add_crystal_commands(add)
    add_text_commands(add)
    add_image_commands(add)
    add_workflow_commands(add)

    stage = add(
        "fetch",
        commands.fetch,
        "fetch files of the catalogue, or list it",
        "Writes verified files to the cache; without names, prints what there is.",
    )
    stage.add_argument("names", nargs="*", metavar="NAME", help="a file or a group of files of the catalogue")
    config_file(stage)
    stage.add_argument("--cache", type=Path, help="folder of fetched files (default: data.cache)")
    stage.add_argument("--mirror", type=Path, help="folder with copies (default: data.mirror)")
    stage.add_argument("--order", nargs="+", metavar="SOURCE", help="kinds of sources to try (default: data.order)")

    stage = add("check", commands.check, "check a configuration and print it with all defaults", "Writes nothing.")
    config_file(stage)

    add_plan_command(add)

    stage = add("schema", commands.schema, "write the JSON schema of the configuration", "Made from the code.")
    stage.add_argument("--output", type=Path, help="file to write (default: standard output)")
    return root
