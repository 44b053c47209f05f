"""The settings of an experiment on crystals."""

from pipeline.config import Config, Crystals
from pipeline.errors import KinoflowError


def settings_of(config: Config, experiment: str) -> Crystals:
    """Return what the configuration says of an experiment's crystals; an experiment without any is an error."""
    settings = config.experiments[experiment].crystals
    if settings is None:
        raise KinoflowError(f"experiments.{experiment}.crystals is null; choose an experiment on crystals")
    return settings
