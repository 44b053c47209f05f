"""The commands for text: the stages of the workflow, and generation on its own."""

from pathlib import Path

from pipeline import commands_text as commands
from pipeline.cli_arguments import config_file, count, gpu_count, input_file, of_experiment, output_file
from pipeline.cli_crystals import Add


def add_text_commands(add: Add) -> None:
    """Add the commands to a parser by its function `add`."""
    stage = add("texts", commands.texts, "write samples of text to read", "Reads samples and tokens; writes texts.")
    input_file(stage, "--samples", "samples from `sample`, `gather` or `reference`")
    input_file(stage, "--tokens", "tokens from `prepare`")
    output_file(stage, "--text", "samples to write, to read (.txt)")
    output_file(stage, "--lines", "samples to write, a line of JSON each (.jsonl)")

    stage = add(
        "judge",
        commands.judge,
        "make sure that the language model that judges samples of text is there",
        "Fetches it if need be; writes what it is.",
    )
    of_experiment(stage)
    output_file(stage, "--output", "name, files and checksums of the judge to write (.json)")

    stage = add(
        "generate-text",
        commands.generate_text,
        "generate text, alone or around what is given",
        "Reads tokens and weights of a finished run; writes texts. What is given is kept, token by token.",
    )
    config_file(stage)
    stage.add_argument("--experiment", default="text", help="name of the experiment (default: %(default)s)")
    stage.add_argument("--run", required=True, help="name of the run in the experiment")
    stage.add_argument("--prefix", help="how every text begins")
    stage.add_argument("--middle", help="what stands in the middle of every text")
    stage.add_argument("--suffix", help="how every text ends")
    stage.add_argument("--count", type=count, default=4, help="number of texts (default: %(default)s)")
    stage.add_argument("--steps", type=count, help="network evaluations (default: those of the run's sampling)")
    stage.add_argument("--seed", type=count, default=0, help="seed (default: %(default)s)")
    stage.add_argument("--tokens", type=Path, help="tokens from `prepare` (default: those of the scale's results)")
    stage.add_argument("--weights", type=Path, help="weights from `train` (default: those of the scale's results)")
    output_file(stage, "--output", "folder to write texts.txt and texts.jsonl to")
    gpu_count(stage)
