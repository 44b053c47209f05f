"""Reading a configuration: YAML, values from the command line over it, each run completed from its experiment."""

import re
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from pipeline.config import Config, Sampling, Sweep
from pipeline.config.problems import ConfigError, Problem, problems_of, without_repetitions
from pipeline.store.atomic import write_text

SHARED = ("model", "training", "sampling")  # what a run takes from its experiment
_PLAIN = re.compile(r"[A-Za-z0-9_.+-]+")
_SCIENTIFIC = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")


def load_config(path: Path, overrides: Iterable[Mapping[str, Any]] = (), *, choices: bool = True) -> Config:
    """Return the configuration in `path` with `overrides` merged over it; raise a ConfigError that lists all problems.

    Without `choices` the names and options of paths, models, metrics, ... are not checked, which saves importing torch.
    """
    raw = read_yaml(path)
    for override in overrides:
        raw = merge(raw, override)
    raw = with_numbers(raw)
    expanded = with_complete_runs(raw)
    config, problems = problems_of(Config, expanded)
    if choices:
        from pipeline.config.choices import problems_of_choices

        problems += problems_of_choices(expanded)
    problems = without_repetitions(problems)
    if config is None or problems:
        raise ConfigError(str(path), problems)
    return config


def write_config(path: Path, config: Config) -> None:
    """Write a configuration with all its values; a file that holds them already is left alone."""
    text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; a key that is given twice is an error."""
    if not path.is_file():
        near = ", ".join(sorted(str(file) for file in path.parent.glob("*.yaml"))) or "no .yaml file in its folder"
        raise ConfigError(str(path), [Problem((), None, f"no such file; there is {near}")])
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeySafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(str(path), [Problem((), None, f"not valid YAML: {error}")]) from error
    if not isinstance(raw, dict):
        raise ConfigError(str(path), [Problem((), raw, "must hold keys and values, such as 'seed: 0'")])
    return raw


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over`; mappings are merged, but one of a different `name` replaces the old."""
    merged = dict(base)
    for key, value in over.items():
        old: Any = merged.get(key)
        mappings = isinstance(old, Mapping) and isinstance(value, Mapping)
        same = mappings and value.get("name", old.get("name")) == old.get("name")
        merged[key] = merge(old, value) if same else value
    return merged


def parse_setting(text: str) -> dict[str, Any]:
    """Return the nested mapping for `a.b.c=value`; the value is YAML, so numbers, lists and mappings work."""
    key, equals, value = text.partition("=")
    if not equals or not all(key.split(".")):
        raise ConfigError("--set", [Problem((), text, "write it as key.of.keys=value, e.g. seed=1")])
    try:
        tree = yaml.load(value, Loader=_UniqueKeySafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError("--set", [Problem((), text, f"not a valid YAML value: {error}")]) from error
    for part in reversed(key.split(".")):
        tree = {part: tree}
    return tree


def with_types(value: Any) -> Any:
    """Return the tree with texts such as "5" and "true" as YAML reads them; Snakemake's --config leaves them texts."""
    if isinstance(value, Mapping):
        return {key: with_types(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_types(inner) for inner in value]
    return yaml.safe_load(value) if isinstance(value, str) and _PLAIN.fullmatch(value) else value


def with_numbers(value: Any) -> Any:
    """Return the tree with texts such as 1e-3 as numbers, which YAML 1.1 reads as text unless there is a point."""
    if isinstance(value, Mapping):
        return {str(key): with_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_numbers(inner) for inner in value]
    return float(value) if isinstance(value, str) and _SCIENTIFIC.fullmatch(value) else value


def with_complete_runs(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the tree with each run's model, training, sampling and seed filled in; what is malformed stays."""
    experiments = raw.get("experiments")
    if not isinstance(experiments, dict):
        return raw
    return raw | {"experiments": {name: _complete(block, raw.get("seed", 0)) for name, block in experiments.items()}}


def _complete(experiment: Any, seed: Any) -> Any:
    if isinstance(experiment, dict) and isinstance(experiment.get("sweep"), dict):
        experiment = experiment | {"sweep": [experiment["sweep"]]}  # one block stands for a list of one
    if not isinstance(experiment, dict) or not isinstance(experiment.get("runs"), dict):
        return experiment
    shared = {"seed": seed} | {key: experiment[key] for key in SHARED if key in experiment}
    # A configuration that was written with its runs complete has them already.
    given = _seeded(experiment) | _swept(experiment) | _searched(experiment)
    given = experiment["runs"] | {name: run for name, run in given.items() if name not in experiment["runs"]}
    runs = {name: _with_weights(run, given) for name, run in given.items()}
    return experiment | {
        "runs": {name: merge(shared, run) if isinstance(run, dict) else run for name, run in runs.items()}
    }


def _seeded(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return each run with a network of its own once more for each of the experiment's further seeds."""
    seeds = experiment.get("seeds")
    return {
        f"{name}_seed_{seed}": experiment["runs"][name] | {"seed": seed}
        for name in _with_networks(experiment, None, needs_path=False)
        for seed in (seeds if isinstance(seeds, list | tuple) else ())
    }


def _swept(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return a run for each combination of values of a sweep and each run that it makes a difference to."""
    sweeps, swept = experiment.get("sweep"), {}
    for sweep in sweeps if isinstance(sweeps, list | tuple) else ():
        # In the order of the fields: a configuration that was written has them so, and names its runs alike.
        grid = (
            {key: sweep[key] for key in Sweep.model_fields if key in sweep and key != "runs"}
            if isinstance(sweep, dict)
            else {}
        )
        if not grid or not all(isinstance(values, list | tuple) for values in grid.values()):
            continue  # what is malformed is reported where the structure is checked
        grid = {key: values for key, values in grid.items() if values}
        for name in _with_networks(experiment, sweep.get("runs"), needs_path=bool({"steps", "velocity"} & grid.keys())):
            for values in product(*grid.values()) if grid else ():
                sampling = dict(zip(grid, values, strict=True))
                if _has(merge(experiment, experiment["runs"][name]), sampling):
                    continue  # the run itself is that combination
                swept["_".join([name, *(f"{key}_{_word(value)}" for key, value in sampling.items())])] = {
                    "weights": name,
                    "sampling": sampling,
                }
    return swept


def _searched(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return a run for each number of steps of the experiment's search and each of its runs."""
    search = experiment.get("search")
    if not isinstance(search, dict) or not isinstance(search.get("steps"), list | tuple):
        return {}
    return {
        f"{name}_searched_{_word(steps)}": {"weights": name, "sampling": {"steps": steps, "searched": True}}
        for name in _with_networks(experiment, search.get("runs"), needs_path=True)
        for steps in search["steps"]
    }


def _has(run: Mapping[str, Any], sampling: dict[str, Any]) -> bool:
    """Return whether a run, merged into its experiment, is sampled with these values, by default or not."""
    own = Sampling().model_dump() | (run["sampling"] if isinstance(run.get("sampling"), dict) else {})
    return all(_named(own.get(key)) == _named(value) for key, value in sampling.items())


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _with_networks(experiment: dict[str, Any], names: Any, needs_path: bool) -> list[str]:
    """Return the runs of those named (null: of all) that have a network of their own, and a path if need be.

    Those that further seeds have added, which a configuration that was written has among its runs, are left out.
    """
    seeds = experiment.get("seeds")
    endings = tuple(f"_seed_{seed}" for seed in (seeds if isinstance(seeds, list | tuple) else ()))
    return [
        name
        for name, run in experiment["runs"].items()
        if isinstance(run, dict)
        and (not isinstance(names, list | tuple) or name in names)
        and not run.get("weights")
        and not (name.endswith(endings) and name.rpartition("_seed_")[0] in experiment["runs"])
        and not (needs_path and run.get("path") is None)
    ]


def _word(value: Any) -> str:
    """Return a value, or the name of a choice and its options, as a part of a run's name."""
    if isinstance(value, dict):
        options = [part for key, inner in value.items() if key != "name" for part in (key, _word(inner))]
        return "_".join([str(value.get("name")), *options])
    return re.sub("[^0-9A-Za-z]", "_", f"{value:g}" if isinstance(value, float) else str(value))


def _with_weights(run: Any, runs: dict[str, Any]) -> Any:
    """Return a run with all that it takes from the run whose weights it uses."""
    trained = runs.get(run["weights"]) if isinstance(run, dict) and isinstance(run.get("weights"), str) else None
    return merge(trained, run) if isinstance(trained, dict) else run


class _UniqueKeySafeLoader(yaml.SafeLoader):
    """YAML's safe loader, plain values only, which also refuses a key that is given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise yaml.constructor.ConstructorError(None, None, "a key must be plain text", key_node.start_mark)
            if key in seen:
                twice = f"the key {key!r} is given twice"
                raise yaml.constructor.ConstructorError(None, None, twice, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)
