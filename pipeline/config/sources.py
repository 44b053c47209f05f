"""Where names in a configuration come from: files that extend the pipeline, and the registries of the mathematics."""

import importlib
import inspect
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from pydantic import BaseModel, create_model

from pipeline.config.base import Strict
from pipeline.config.plugins import METRICS, Plugins
from pipeline.config.problems import Problem, problems_of
from pipeline.errors import did_you_mean

if TYPE_CHECKING:
    from pipeline.flow.registry import Registry

Source: TypeAlias = "Plugins[Any] | Registry[Any]"
_PLAIN = (int, float, str, bool, type(None), Any)


def source_of(name: str) -> Source:
    """Return a source by its full name, such as `pipeline.flow.paths.PATHS`."""
    module, _, variable = name.rpartition(".")
    source: Source = vars(importlib.import_module(module))[variable]
    return source


def plugins_of(name: str) -> Plugins[Any]:
    """Return a source of plugin files, by its full name."""
    source = source_of(name)
    assert isinstance(source, Plugins), f"{name} is a registry"
    return source


def problems_of_choice(source: Source, name: str, options: dict[str, Any]) -> list[Problem]:
    """Return what is wrong with the name or the options of a choice."""
    if name not in source.names():
        return [_unknown(source, name, "name")]
    return problems_of(options_model(source, name), options)[1]


def problems_of_metrics(scoring: dict[str, dict[str, Any]]) -> list[Problem]:
    """Return what is wrong with the metrics; each is chosen by its key."""
    problems = []
    for metric, options in scoring.items():
        if "name" in options:
            named = "unknown key; a metric is chosen by its key under scoring"
            problems.append(Problem((metric, "name"), options["name"], named))
        if metric not in METRICS.names():
            problems.append(_unknown(METRICS, metric, metric))
            continue
        given = {key: value for key, value in options.items() if key != "name"}
        problems += problems_of(METRICS.load(metric).Options, given, (metric,))[1]
    return problems


def options_model(source: Source, name: str) -> type[BaseModel]:
    """Return the model of the options that the implementation `name` takes from a configuration."""
    if isinstance(source, Plugins):
        options: type[BaseModel] = source.load(name).Options
        return options
    fields: dict[str, Any] = {
        key: (parameter.annotation, ... if parameter.default is inspect.Parameter.empty else parameter.default)
        for key, parameter in source.options(name).items()
        if _is_plain(parameter.annotation)
    }
    return create_model(name, __base__=Strict, **fields)


def _unknown(source: Source, name: str, key: str) -> Problem:
    return Problem((key,), name, f"unknown {source.noun}; {did_you_mean(name, source.names())}")


def _is_plain(annotation: Any) -> bool:
    """Return whether values of a type can be written in YAML, unlike a tensor."""
    inner = get_args(annotation)
    return all(map(_is_plain, inner)) if inner else any(annotation is plain for plain in _PLAIN)
