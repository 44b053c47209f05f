"""Jobs of a running workflow that are killed midway, each once."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from project import Project

POLL = 0.2  # seconds


@dataclass
class Interruption:
    """A job that gets a signal as soon as it has left something to go on from."""

    comment: str  # the name that the plugin gives to the job: its rule and wildcards
    signal: str
    has_begun: Callable[[Path], bool]
    job: str = ""
    description: str = field(default="", repr=False)  # what SLURM knows of the job when it is killed

    def try_in(self, folder: Path) -> None:
        """Send the signal if it is time."""
        if self.job or not self.has_begun(folder):
            return
        running = _output("squeue", "--noheader", "--states=RUNNING", "--format=%i|%k").splitlines()
        jobs = [line.partition("|")[0] for line in running if line.partition("|")[2] == self.comment]
        if jobs:
            self.job, self.description = jobs[0], _output("scontrol", "show", "job", jobs[0])
            subprocess.run(["scancel", f"--signal={self.signal}", jobs[0]], check=True)


def run_interrupted(project: Project, arguments: list[str], interruptions: list[Interruption]) -> tuple[int, str]:
    """Run snakemake and kill the jobs; return its exit code and output. It is ended with its jobs on any exception."""
    log = project.folder / "snakemake.out"
    with log.open("w") as stream:
        command = [sys.executable, "-m", "snakemake", *arguments]
        process = subprocess.Popen(command, cwd=project.folder, stdout=stream, stderr=stream, env=os.environ)
        try:
            while process.poll() is None:
                for interruption in interruptions:
                    interruption.try_in(project.folder)
                time.sleep(POLL)
        finally:
            process.terminate()
            process.wait()
    return process.returncode, log.read_text()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
