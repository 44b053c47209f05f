"""How much cheaper is a `table` job than when it imported torch and checked the whole configuration?

A table of an experiment without scores: hardly any work but the start of the process.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import Comparison, children, compare
from pipeline.config.loading import load_config, write_config

ROOT = Path(__file__).parents[1]
# What a job did before it had a resolved configuration and its own imports.
FORMER = """
import sys
from pathlib import Path
import torch
from pipeline.config.loading import load_config
from pipeline.stages.job import Job
from pipeline.stages.table import table
config, experiment, *paths = sys.argv[1:]
csv, markdown, numbers = map(Path, paths)
table(Job(load_config(Path(config)), experiment), csv=csv, markdown=markdown, numbers=numbers)
"""


def commands(config: Path, experiment: str, folder: Path) -> tuple[list[str], list[str]]:
    """Return the commands that make a table in a folder, in the former way and in today's."""
    resolved = folder / "config.yaml"
    write_config(resolved, load_config(config))
    former, now = ({ending: str(folder / f"{way}.{ending}") for ending in ("csv", "md", "json")} for way in ("a", "b"))
    flags = ["--csv", now["csv"], "--markdown", now["md"], "--numbers", now["json"]]
    return (
        [sys.executable, "-c", FORMER, str(config), experiment, *former.values()],
        [sys.executable, "-m", "pipeline", "table", "--config", str(resolved), "--experiment", experiment, *flags],
    )


def run(command: list[str]) -> None:
    """Run a command from the root of the repository."""
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def answers() -> list[Comparison]:
    """Return the answer for a table of the demo."""
    with tempfile.TemporaryDirectory() as folder:
        former, now = commands(ROOT / "config/demo.yaml", "pixels", Path(folder))
        slow = ("torch, all checks", lambda: run(former))
        fast = ("resolved configuration", lambda: run(now))
        return [compare("a table job", slow, fast, repeats=3, clock=children)]
