"""The command for the scale sheet."""

from pathlib import Path

from pipeline import commands_plan as commands
from pipeline.cli_arguments import config_file
from pipeline.cli_crystals import Add


def add_plan_command(add: Add) -> None:
    """Add the command to a parser by its function `add`."""
    stage = add(
        "plan",
        commands.plan,
        "print what a configuration asks for: jobs, parameters, FLOPs, GPU-hours, disk",
        "Reads the configuration only, and needs neither data nor a GPU.",
    )
    config_file(stage)
    stage.add_argument("--gpu", default="A100", help="kind of GPU that time limits are compared for (%(default)s)")
    stage.add_argument(
        "--utilisation", type=float, default=0.35, help="share of the peak that is reached (default: %(default)s)"
    )
    stage.add_argument("--measure", action="store_true", help="run a few training steps of each network here, too")
    stage.add_argument("--json", type=Path, help="file to write it to, with all digits (default: none)")
