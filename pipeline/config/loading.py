"""Configuration files: reads YAML, applies values from the command line, adds all runs, and checks everything.

Jobs read a file with all runs and values, which was checked before it was written and holds its own checksum. If that
is right, it is not checked again. In all files, there are plain values only, no duplicate keys, and 1e-3 is a number.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from pipeline.config.choices import CHECKED
from pipeline.config.expansion import added_runs, merge, problems_of_weights, with_complete_runs
from pipeline.config.experiments import Config, Experiment
from pipeline.config.plain_yaml import DEEPEST, plain_yaml
from pipeline.config.problems import ConfigError, Problem, problems_of, shortened, without_repetitions
from pipeline.config.runs import Run
from pipeline.store.atomic import write_text

_MARK = "# Resolved and checked; jobs only read this file. It is checked again if it is edited. SHA-256: {}\n"
_FIRST_LINE = re.compile(re.escape(_MARK.rstrip("\n")).replace(r"\{\}", "([0-9a-f]{64})"))
LARGEST_NUMBER = 2**53
_PLAIN = re.compile(r"[A-Za-z0-9_.+-]+")
_SCIENTIFIC = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")


def load_config(
    path: Path, overrides: Iterable[Mapping[str, Any]] = (), *, choices: bool = True, said: str = ""
) -> Config:
    """Return the configuration in `path` with `overrides` merged over it; raise a ConfigError that lists all problems.

    The error names the file `said`, if the problems may come from another one.

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
    if problems := list(_too_large(raw, ())):
        raise ConfigError(str(path), problems)
    expanded = with_complete_runs(raw)
    config, problems = problems_of(Config, expanded, context=CHECKED if choices else None)
    problems += problems_of_weights(expanded)
    if choices:
        from pipeline.config.combinations import problems_of_combinations  # it needs torch

        for name, experiment, complete in _valid_experiments(config, expanded):
            problems += problems_of_combinations(experiment, ("experiments", name), complete)
    problems = without_repetitions(problems, added_runs(raw, expanded))
    if config is None or problems:
        if _is_resolved(path):
            again = "was resolved by another version, or edited; use config/<scale>.yaml, or run the workflow again"
            problems = [Problem((), None, again), *problems]
        raise ConfigError(said or str(path), problems)
    return config


def load_layered(file: Path, overrides: Iterable[Mapping[str, Any]] = (), *, choices: bool = True) -> Config:
    """Return the configuration in `file`; what it leaves out is that of its scale, as in `snakemake --configfile`.

    The scale is the file's key `scale`, or demo. Its own configuration is `config/<scale>.yaml`, in the working
    directory. A file that is this one, or that `write_config` wrote, or whose scale has none, has everything.
    """
    base = None if _is_resolved(file) else Path("config") / f"{read_yaml(file).get('scale', 'demo')}.yaml"
    if base is None or not base.is_file() or base.samefile(file):
        return load_config(file, overrides, choices=choices)
    return load_config(base, [read_yaml(file), *overrides], choices=choices, said=str(file))


def _is_resolved(file: Path) -> bool:
    with suppress(OSError, UnicodeDecodeError), file.open(encoding="utf-8") as stream:
        return _FIRST_LINE.fullmatch(stream.readline().rstrip("\n")) is not None
    return False


def _valid_experiments(config: Config | None, expanded: dict[str, Any]) -> Iterator[tuple[str, Experiment, bool]]:
    """Yield the experiments that are valid once invalid runs are left out, and whether all runs are valid."""
    if config is not None:
        yield from ((name, experiment, True) for name, experiment in config.experiments.items())
        return
    experiments = expanded.get("experiments")
    for name, block in experiments.items() if isinstance(experiments, dict) else ():
        runs = block.get("runs") if isinstance(block, dict) else None
        if isinstance(runs, dict):
            valid = {run: values for run, values in runs.items() if problems_of(Run, values, context=CHECKED)[0]}
            experiment, _ = problems_of(Experiment, block | {"runs": valid}, context=CHECKED)
            if experiment is not None:
                yield name, experiment, len(valid) == len(runs)


def write_config(path: Path, config: Config) -> None:
    """Write a configuration with all its values; a file that already holds them is left alone."""
    text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
    text = _MARK.format(_checksum(text)) + text
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def read_resolved(path: Path) -> Config | None:
    """Return the configuration if `write_config` wrote the file and nobody edited it; None otherwise."""
    with suppress(OSError, ValueError):  # not UTF-8, not plain YAML, or written by another version of this project
        mark, _, text = path.read_text(encoding="utf-8").partition("\n")
        found = _FIRST_LINE.fullmatch(mark)
        if found and found[1] == _checksum(text):
            return Config.model_validate_json(json.dumps(plain_yaml(text)))
    return None


def _too_large(value: Any, key: tuple[str, ...]) -> Iterator[Problem]:
    """Yield a problem for each whole number that would not be exact as a floating-point number."""
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _too_large(inner, (*key, str(name)))
    elif isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        yield Problem(key, None, f"must be at most {LARGEST_NUMBER:,} in size")


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; a duplicate key is an error."""
    if not path.is_file():
        near = ", ".join(sorted(str(file) for file in path.parent.glob("*.yaml"))) or "no .yaml file in its folder"
        fix = "give one with --config, or work in the root of the repository or project"
        raise ConfigError(str(path), [Problem((), None, f"no such file; there is {near}; {fix}")])
    try:
        raw = plain_yaml(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(str(path), [Problem((), None, f"not valid YAML: {error}")]) from error
    if not isinstance(raw, dict):
        raise ConfigError(str(path), [Problem((), raw, "must hold keys and values, such as 'seed: 0'")])
    return raw


def parse_setting(text: str) -> dict[str, Any]:
    """Return the nested mapping for `a.b.c=value`; the value is YAML, so numbers, lists and mappings work."""
    key, equals, value = text.partition("=")
    if not equals or not all(key.split(".")):
        fix = "write it as key.of.keys=value, e.g. seed=1; what is no setting goes before --set"
        raise ConfigError("--set", [Problem((), None, f"{shortened(text)}: {fix}")])
    try:
        if key.count(".") >= DEEPEST:
            raise ValueError(f"nested too deep; at most {DEEPEST} levels are read")
        tree = plain_yaml(value)
    except ValueError as error:
        raise ConfigError(
            "--set", [Problem((), None, f"{shortened(text)}: not a valid YAML value: {error}")]
        ) from error
    for part in reversed(key.split(".")):
        tree = {part: tree}
    return tree


def with_types(value: Any) -> Any:
    """Return the tree with strings such as "5" and "true" read as YAML; Snakemake's --config leaves them as strings."""
    if isinstance(value, Mapping):
        return {key: with_types(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_types(inner) for inner in value]
    return yaml.safe_load(value) if isinstance(value, str) and _PLAIN.fullmatch(value) else value


def with_numbers(value: Any) -> Any:
    """Return the tree with strings such as 1e-3 as numbers; YAML 1.1 reads 1e-3 as a string because it has no point."""
    if isinstance(value, Mapping):
        return {str(key): with_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_numbers(inner) for inner in value]
    return float(value) if isinstance(value, str) and _SCIENTIFIC.fullmatch(value) else value
