from pathlib import Path

from pipeline.stages.parameters import Texts


def init(folder: Path, /, *, experiments: Texts = ("checkerboard",), scale: str = "demo") -> None:
    """Start a project of your own in a new folder.

    It gets a configuration to edit, a Snakefile, profiles and dvc.yaml, all of which use the installed package.

    Args:
        folder: new folder
        experiments: experiments of the scale to begin with (default: checkerboard)
        scale: demo, small or paper
    """
    from pipeline.inspect.project import write_project

    write_project(folder, scale, experiments)
    print(f"{folder} is ready: edit config/{scale}.yaml there, then call `snakemake --cores all` in it")
