"""A copy of the workflow in which tests run and edit it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from dry_runs import dry_run
from tiny import TINY

ROOT = Path(__file__).parents[2]
OFFLINE = Path(__file__).parent / "offline"
SECRETS = {f"ACME_{kind}": f"secret-{kind.lower()}-0123456789" for kind in ("KEY", "TOKEN", "SECRET", "PASSWORD")}
PARTS = (
    "Snakefile",
    "workflow",
    "profiles",
    "pipeline",
    "snakemake_logger_plugin_kinoflow",
    "config",
    "envs",
    "dvc.yaml",
    ".dvc/config",
    ".dvcignore",
    ".gitignore",
)


def given_of(scale: str, values: str, experiment: str) -> list[str]:
    """Return what follows --config: a scale, with `values` over the configuration of an experiment."""
    return [f"scale={scale}"] + ([f"experiments={{{experiment}: {values}}}"] if values else [])


@dataclass(frozen=True)
class Project:
    """The folder of a copy, with the tiny configuration as one more scale."""

    folder: Path

    @classmethod
    def copy_to(cls, folder: Path) -> "Project":
        for part in PARTS:
            source, target = ROOT / part, folder / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        (folder / "config/tiny.yaml").write_text(yaml.safe_dump(TINY))
        return cls(folder)

    def snakemake(
        self, *arguments: str, scale: str = "tiny", values: str = "", experiment: str = "checkerboard"
    ) -> subprocess.CompletedProcess[str]:
        """Run the workflow with `values` over the experiment's configuration; its output is in stdout.

        Jobs see the `SECRETS`, and no job but a fetch may open a socket to another machine.
        """
        given = given_of(scale, values, experiment)
        result = self.offline(sys.executable, "-m", "snakemake", *arguments, "--config", *given)
        assert not self.sockets.exists(), self.sockets.read_text()
        return result

    @property
    def sockets(self) -> Path:
        """The file that names the sockets that were refused."""
        return self.folder / "sockets.txt"

    def offline(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command whose processes of Python may not reach another machine, unless they fetch."""
        path = os.pathsep.join(filter(None, [str(OFFLINE), os.environ.get("PYTHONPATH")]))
        return self.run(*command, PYTHONPATH=path, TEST_SOCKETS=str(self.sockets), **SECRETS)

    @contextmanager
    def edited(self, file: str) -> Iterator[None]:
        """Let a module do something more for a while."""
        path = self.folder / file
        before = path.read_text()
        path.write_text(f"{before}\nEDITED = True\n")
        try:
            yield
        finally:
            path.write_text(before)

    def planned(self, scale: str = "tiny", values: str = "", experiment: str = "checkerboard") -> dict[str, int]:
        """Return how many jobs of each rule a dry run plans."""
        code, said = dry_run(self.folder, ["--config", *given_of(scale, values, experiment)])
        assert code == 0, said
        stats = said.rpartition("Job stats:")[2].partition("\n\n")[0] if "Job stats:" in said else ""
        return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", stats, re.MULTILINE)}

    def traced(self, artefact: str) -> dict[str, list[str]]:
        """Return the files that an artefact was made from by their state, as `trace` says."""
        output = self.folder / "trace.json"
        result = self.run(sys.executable, "-m", "pipeline", "trace", artefact, "--json", str(output))
        assert result.returncode == 0, result.stdout
        states: dict[str, list[str]] = {}
        for file in json.loads(output.read_text())["files"]:
            assert not [edge for edge in file["inputs"] if edge["changed_since"]]
            states.setdefault(file["state"], []).append(file["path"])
        return states

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder, as in an activated environment; its output is in stdout."""
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "MPLBACKEND": "Agg"}
        environment |= variables
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
