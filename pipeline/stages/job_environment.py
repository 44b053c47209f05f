"""The environment of the workflow's jobs."""

import os
import sys


def serve_jobs(root: str) -> None:
    """Let jobs use this interpreter and the package in `root`, whether or not an environment is activated.

    A conda environment that Snakemake activates for a job still comes first in its search path.
    """
    _prepend("PATH", os.path.dirname(sys.executable))
    _prepend("PYTHONPATH", root)


def _prepend(variable: str, entry: str) -> None:
    entries = [part for part in os.environ.get(variable, "").split(os.pathsep) if part and part != entry]
    os.environ[variable] = os.pathsep.join([entry, *entries])
