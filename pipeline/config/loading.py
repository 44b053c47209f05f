"""Loads a configuration: reads YAML, applies values from the command line, adds all runs, and checks everything."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.config.choices import CHECKED
from pipeline.config.expansion import added_runs, merge, problems_of_weights, with_complete_runs
from pipeline.config.experiments import Config, Experiment
from pipeline.config.problems import ConfigError, Problem, problems_of, without_repetitions
from pipeline.config.resolved import read_resolved, write_config
from pipeline.config.runs import Run
from pipeline.config.yaml_text import parse_setting, read_yaml, with_numbers, with_types

__all__ = ["load_config", "merge", "parse_setting", "read_yaml", "with_numbers", "with_types", "write_config"]


def load_config(path: Path, overrides: Iterable[Mapping[str, Any]] = (), *, choices: bool = True) -> Config:
    """Return the configuration in `path` with `overrides` merged over it; raise a ConfigError that lists all problems.

    Without `choices`, the names and options of paths, models, metrics, ... are not checked. This saves importing torch.
    A file from `write_config` was checked before it was written, and is not checked again.
    """
    overrides = list(overrides)
    if not overrides and (resolved := read_resolved(path)):
        return resolved
    raw = read_yaml(path)
    for override in overrides:
        raw = merge(raw, override)
    raw = with_numbers(raw)
    expanded = with_complete_runs(raw)
    config, problems = problems_of(Config, expanded, context=CHECKED if choices else None)
    problems += problems_of_weights(expanded)
    if choices:
        problems += _problems_of_combinations(config, expanded)
    problems = without_repetitions(problems, added_runs(raw, expanded))
    if config is None or problems:
        raise ConfigError(str(path), problems)
    return config


def _problems_of_combinations(config: Config | None, expanded: dict[str, Any]) -> Iterator[Problem]:
    from pipeline.config.combinations import problems_of_combinations

    if config is not None:
        for name, experiment in config.experiments.items():
            yield from problems_of_combinations(experiment, ("experiments", name))
    else:
        for name, experiment, complete in _valid_experiments(expanded):
            yield from problems_of_combinations(experiment, ("experiments", name), complete)


def _valid_experiments(expanded: dict[str, Any]) -> Iterator[tuple[str, Experiment, bool]]:
    """Yield the experiments that are valid once invalid runs are left out, and whether all runs are valid."""
    experiments = expanded.get("experiments")
    for name, block in experiments.items() if isinstance(experiments, dict) else ():
        runs = block.get("runs") if isinstance(block, dict) else None
        if isinstance(runs, dict):
            valid = {run: values for run, values in runs.items() if problems_of(Run, values, context=CHECKED)[0]}
            experiment, _ = problems_of(Experiment, block | {"runs": valid}, context=CHECKED)
            if experiment is not None:
                yield name, experiment, len(valid) == len(runs)
