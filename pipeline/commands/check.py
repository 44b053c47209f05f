import sys

from pipeline.commands.given import Given


def check(given: Given) -> None:
    """Check a configuration and print it with all defaults.

    Writes nothing.
    """
    import yaml

    yaml.safe_dump(given.config.model_dump(mode="json"), sys.stdout, sort_keys=False)
