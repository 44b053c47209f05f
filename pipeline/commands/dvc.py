import sys
from pathlib import Path

from pipeline.stages.parameters import OptionalOutput


def dvc(*, config: Path = Path("config/demo.yaml"), output: OptionalOutput = None) -> None:
    """Write the stages of DVC for a configuration.

    They are made from the jobs of the workflow and what their stages declare. Nothing is run, and no data are needed.

    Args:
        config: YAML file of the scale
        output: file to write, `dvc.yaml` in the root of the repository (default: standard output)
    """
    from pipeline.inspect.dvc.text import dvc_text
    from pipeline.store.atomic import write_text

    text = dvc_text(config)
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)
