import subprocess
import sys
from pathlib import Path

from pipeline.errors import KinoflowError
from pipeline.stages.parameters import Output, Settings


def train_crystals(
    structures: Path, /, *, output: Output, scale: str = "demo", cores: str = "all", set: Settings = ()
) -> None:
    """Train on your own crystals: from a folder of CIF files to tables, in one call.

    Starts a project in a new folder, and runs its workflow. A second call goes on where the first was stopped.

    Args:
        structures: folder or zip of CIFs, .extxyz, .csv with a cif column, .parquet
        output: folder for the project, its results and networks
        scale: whose settings to use: demo, small or paper
        cores: processor cores to use
        set: a value for a key of the configuration, e.g. experiments.materials.training.steps=500
    """
    import json

    from pipeline.config.expansion import merge
    from pipeline.config.loading import parse_setting
    from pipeline.inspect.project import write_project

    if cores != "all" and not (cores.isascii() and cores.isdigit() and int(cores)):
        raise KinoflowError(f"--cores {cores}: give a number from 1 on, or all")
    if not structures.exists():
        raise KinoflowError(f"{structures}: no such file or folder; name one with crystal structures")
    if not (output / "Snakefile").is_file():
        write_project(output, scale, ["materials"], structures)
    values: dict[str, object] = {}
    for setting in set:
        values = merge(values, parse_setting(setting))
    given = [f"{key}={json.dumps(value)}" for key, value in values.items()]
    command = ["--cores", cores, "--rerun-incomplete", *(["--config", *given] if given else [])]
    if subprocess.run([sys.executable, "-m", "snakemake", *command], cwd=output, check=False).returncode:
        raise KinoflowError(f"{output}: the workflow has not finished; correct what is said above, and call this again")
    print(f"tables: {output}/results/{scale}/tables; crystals: {output}/results/{scale}/crystals/materials")
