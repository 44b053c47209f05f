"""A plugin that is chosen within the options of another one, such as the corpus of a data set."""

from typing import Any

from pipeline.config import Choice
from pipeline.config.plugins import Plugins
from pipeline.config.problems import problems_of
from pipeline.errors import did_you_mean


def chosen(source: Plugins, choice: Choice) -> tuple[Any, Any]:
    """Return the module and its options; a wrong name or option is a ValueError, which pydantic reports."""
    if choice.name not in source.names():
        raise ValueError(f"unknown {source.noun} {choice.name!r}; {did_you_mean(choice.name, source.names())}")
    module = source.load(choice.name)
    options, problems = problems_of(module.Options, choice.options, (choice.name,))
    if problems:
        raise ValueError("; ".join(map(str, problems)))
    return module, options
