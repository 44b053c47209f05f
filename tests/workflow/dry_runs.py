"""Dry runs of the workflow, each in a process of its own that has the libraries from the start.

A dry run takes three seconds of a processor, and two of them go into importing snakemake and torch. A server imports
them once, and each dry run is a fork of it. It reads the package and the workflow of its own folder.
"""

import multiprocessing
import os
import sys
from pathlib import Path

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["snakemake.cli", "torch", "pandas"])


def dry_run(folder: Path, arguments: list[str]) -> tuple[int, str]:
    """Return the exit code of `snakemake --dry-run` with further arguments in a folder, and what it prints."""
    output = folder / "dry_run.txt"
    process = SERVER.Process(target=_plan, args=(folder, arguments, output))
    process.start()
    process.join()
    assert process.exitcode is not None
    said = output.read_text()
    output.unlink()
    return process.exitcode, said


def _plan(folder: Path, arguments: list[str], output: Path) -> None:
    with output.open("wb") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.chdir(folder)
    sys.path[:] = [str(folder), *(entry for entry in sys.path if "site-packages" in entry or "lib/python" in entry)]
    from snakemake.cli import main

    main(["--dry-run", *arguments])
