"""From a configuration to `dvc.yaml`."""

from pathlib import Path

from pipeline.config.loading import load_config
from pipeline.errors import KinoflowError
from pipeline.inspect.dvc.blocks import blocks_of
from pipeline.inspect.dvc.steps import steps_of
from pipeline.inspect.dvc.text import text_of
from pipeline.inspect.dvc.workflow import workflow_jobs


def dvc_text(file: Path) -> str:
    """Return the text of `dvc.yaml` for the configuration in a file."""
    config = load_config(file)
    read = Path("config", f"{config.scale}.yaml")
    if not read.is_file() or not read.samefile(file):
        raise KinoflowError(f"{file}: the workflow reads {read}; move the file there, or change its `scale`")
    return text_of(config, blocks_of(config, steps_of(config, workflow_jobs(config))))
