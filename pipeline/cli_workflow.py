"""The commands about whole runs: what one needs, and where its results come from."""

from pathlib import Path

from pipeline import commands_workflow as commands
from pipeline.cli_arguments import config_file
from pipeline.cli_crystals import Add


def add_workflow_commands(add: Add) -> None:
    """Add the commands to a parser by its function `add`."""
    stage = add(
        "preflight",
        commands.preflight,
        "list all that a run would need and does not have",
        "Files, space, rights, GPUs and packages; fetches nothing. The workflow does the same before its first job.",
    )
    config_file(stage)
    stage.add_argument("--cluster", action="store_true", help="jobs run elsewhere: GPUs are not looked for here")
    stage.add_argument("--output", type=Path, help="problems and remarks to write (.json)")

    stage = add(
        "trace",
        commands.trace,
        "show what a table, figure or other artefact was made from",
        "Reads the records beside the files, down to the data; each file is compared with its checksum.",
    )
    stage.add_argument("artefact", type=Path, help="a file that the workflow has made")
    stage.add_argument("--json", type=Path, metavar="FILE", help="the same to write for programs, with the commands")
