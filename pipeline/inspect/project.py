"""A folder for a project of its own, which uses the workflow of the installed package."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from pipeline.config.loading import load_config, read_yaml
from pipeline.errors import KinoflowError, did_you_mean
from pipeline.store.atomic import write_text
from pipeline.store.shipped import SHIPPED

SNAKEFILE = """\
# The workflow of the installed package, on the configurations in `config` beside this file.
from pipeline.store.shipped import SHIPPED

config.setdefault("scale", "{scale}")


include: str(SHIPPED / "workflow/Snakefile")


workflow.default_target = "all"
"""
IGNORED = """\
.snakemake/
/data/
/results/*/*
!/results/*/tables/
!/results/*/scores/
!/results/*/headlines/
"""
README = """\
# {title}

A project of Kinoflow: its workflow, with the configuration in [config/{scale}.yaml](config/{scale}.yaml).

```bash
snakemake --cores all                  # tables, figures and a page (report/index.html) appear in results/{scale}
kinoflow plan --config config/{scale}.yaml  # what it will cost
snakemake --profile slurm              # on a cluster; first edit slurm/config.yaml
dvc repro                              # the same with DVC, after `git init` and `dvc init`
```

After a change of experiments or runs: `kinoflow dvc --config config/{scale}.yaml --output dvc.yaml`.
"""


def scales() -> list[str]:
    """Return the scales that the package has configurations for."""
    return sorted(file.stem for file in (SHIPPED / "config").glob("*.yaml"))


def write_project(folder: Path, scale: str, experiments: Collection[str], structures: Path | None = None) -> None:
    """Write a configuration with some of a scale's experiments, a Snakefile, profiles and `dvc.yaml`.

    The data of the experiment are the user's `structures`, if there are any.
    """
    if scale not in scales():
        raise KinoflowError(f"--scale {scale!r}: {did_you_mean(scale, scales())}")
    source = SHIPPED / "config" / f"{scale}.yaml"
    known = list(read_yaml(source)["experiments"])
    for name in experiments:
        if name not in known:
            raise KinoflowError(f"--experiments {name!r}: not at the scale {scale}; {did_you_mean(name, known)}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise KinoflowError(f"{folder}: there is something already; name a new folder")
    config = Path("config", source.name)
    text = only_experiments(source.read_text("utf-8"), experiments)
    if structures is not None:
        data = f"data: {{name: structures, path: {json.dumps(str(structures.absolute()))}}}"
        text = re.sub(r"^    data: .*", lambda _: f"    {data}", text, flags=re.MULTILINE)
    write_text(folder / config, text)
    load_config(folder / config)
    write_text(folder / "Snakefile", SNAKEFILE.format(scale=scale))
    write_text(folder / ".gitignore", IGNORED)
    write_text(folder / ".dvcignore", IGNORED.partition("/data/")[0] + "*.provenance.json\n")
    write_text(folder / "README.md", README.format(title=folder.absolute().name, scale=scale))
    profiles = SHIPPED / "workflow/profiles"
    shutil.copytree(profiles / "default", folder / "profiles/default")
    shutil.copytree(profiles / "slurm", folder / "slurm")
    command = [sys.executable, "-m", "pipeline", "dvc", "--config", str(config), "--output", "dvc.yaml"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        raise KinoflowError(f"{folder / 'dvc.yaml'} was not made: {made.stderr.strip()}")


def only_experiments(text: str, names: Collection[str]) -> str:
    """Return a configuration with some of its experiments, and with its comments."""
    head, experiments, tail = re.split(r"^experiments:\n((?:[ #].*\n|\n)*)", text, flags=re.MULTILINE)
    blocks = re.split(r"^(?=  \w)", experiments, flags=re.MULTILINE)
    chosen = [block for block in blocks if block.strip().partition(":")[0] in names]
    return f"{head}experiments:\n{''.join(chosen).rstrip()}\n{tail}"
