"""With a container, every job runs in the image that is made from the Dockerfile."""

import sys
from pathlib import Path

from project import Project

# Takes the place of apptainer, which may not be here: notes its arguments, and runs the command without a container.
PRETENDS = """\
#!/bin/sh
if [ "$1" = --version ]; then echo "apptainer version 1.3.0"; exit; fi
echo "$@" >> calls.txt
while [ "${1##*/}" != kinoflow.sif ]; do shift; done
shift
exec "$@"
"""


def test_jobs_run_in_the_image_if_that_is_asked_for(tmp_path: Path) -> None:
    project = Project.copy_to(tmp_path / "project")
    program = tmp_path / "bin/apptainer"
    program.parent.mkdir()
    program.write_text(PRETENDS)
    program.chmod(0o755)
    tokens = "results/tiny/tokens/checkerboard.safetensors"
    path = f"{program.parent}:{Path(sys.executable).parent}:/usr/bin:/bin"
    command = ("snakemake", tokens, "--cores", "1", "--software-deployment-method", "apptainer")
    done = project.run(*command, "--config", "scale=tiny", PATH=path)
    assert done.returncode == 0, done.stdout
    assert (project.folder / tokens).is_file()
    (call,) = (project.folder / "calls.txt").read_text().splitlines()
    assert call.startswith("exec ")
    assert "python -m pipeline prepare" in call
