"""Expands a configuration to all of its runs: shared values, further seeds, sweeps and searches.

Trees are mappings as they come from YAML. Malformed parts stay as they are. Validation refuses them later.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from pipeline.config.problems import Problem
from pipeline.config.runs import Corrector, Sampling, Sweep
from pipeline.errors import did_you_mean

_CORRECTOR = Corrector(weight=0).model_dump(mode="json")
SHARED = ("model", "training", "sampling")  # what a run takes from its experiment


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over`; mappings are merged, or replaced if their `name` differs."""
    merged = dict(base)
    for key, value in over.items():
        old: Any = merged.get(key)
        mappings = isinstance(old, Mapping) and isinstance(value, Mapping)
        same = mappings and value.get("name", old.get("name")) == old.get("name")
        merged[key] = merge(old, value) if same else value
    return merged


def with_complete_runs(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the tree with each run's model, training, sampling and seed filled in; malformed parts stay."""
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
    given = experiment["runs"]  # those from `write_config` already hold the others; what is given counts
    given = given | _seeded(experiment) | _swept(experiment) | _searched(experiment) | given
    return experiment | {"runs": {name: _completed(run, given, shared) for name, run in given.items()}}


def _completed(run: Any, runs: dict[str, Any], shared: dict[str, Any]) -> Any:
    """Return a run with the values that it takes from its experiment, and from the run whose weights it uses."""
    if not isinstance(run, dict):
        return run
    trained = runs.get(run["weights"]) if isinstance(run.get("weights"), str) else None
    return merge(shared, merge(trained, run) if isinstance(trained, dict) else run)


def _seeded(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of each run with its own network for each further seed of the experiment."""
    return {
        f"{name}_seed_{seed}": experiment["runs"][name] | {"seed": seed}
        for name in _with_networks(experiment, None, needs_path=False)
        for seed in _listed(experiment.get("seeds"))
    }


def _swept(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return a run for each combination of values of a sweep and each run that it changes."""
    swept = {}
    for sweep in [block for block in _listed(experiment.get("sweep")) if isinstance(block, dict)]:
        # In the order of the fields, as `write_config` writes them: the runs then get the same names again.
        grid = {key: sweep[key] for key in Sweep.model_fields if key in sweep and key != "runs"}
        if not all(isinstance(values, list | tuple) for values in grid.values()):
            continue  # validation reports what is malformed
        grid = {key: values for key, values in grid.items() if values}
        needs_path = bool({"steps", "velocity", "step", "corrector"} & grid.keys())
        names = _with_networks(experiment, sweep.get("runs"), needs_path) if grid else []
        for name, values in product(names, product(*grid.values())):
            words = [f"{key}_{_word(_short(key, value))}" for key, value in zip(grid, values, strict=True)]
            sampling = {key: _sampled(key, value) for key, value in zip(grid, values, strict=True)}
            if not _has(merge(experiment, experiment["runs"][name]), sampling):
                swept["_".join([name, *words])] = {"weights": name, "sampling": sampling}
    return swept


def _searched(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return a run for each number of steps of the experiment's search and each of its runs."""
    search = experiment.get("search")
    if not isinstance(search, dict):
        return {}
    return {
        f"{name}_searched_{_word(steps)}": {"weights": name, "sampling": {"steps": steps, "searched": True}}
        for name in _with_networks(experiment, search.get("runs"), needs_path=True)
        for steps in _listed(search.get("steps"))
    }


def _has(run: Mapping[str, Any], sampling: dict[str, Any]) -> bool:
    """Return whether a run, merged into its experiment, is already sampled with these values."""
    own = Sampling().model_dump() | (run["sampling"] if isinstance(run.get("sampling"), dict) else {})
    return all(_named(own.get(key)) == _named(value) for key, value in sampling.items())


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _short(key: str, value: Any) -> Any:
    """Return a value of a sweep without the numbers of a corrector that are its defaults."""
    if key != "corrector" or not isinstance(value, dict):
        return value
    given = {name: value[name] for name in _CORRECTOR if name in value}
    return {name: one for name, one in given.items() if name == "weight" or _named(one) != _named(_CORRECTOR[name])}


def _sampled(key: str, value: Any) -> Any:
    """Return a value of a sweep as `sampling` has it: a corrector's weight stands for the corrector, 0 for none."""
    if key != "corrector":
        return value
    if isinstance(value, dict):
        return _CORRECTOR | value
    return None if value == 0 else _sampled(key, {"weight": value})


def _with_networks(experiment: dict[str, Any], names: Any, needs_path: bool) -> list[str]:
    """Return those of the named runs (None: of all) that have their own network, and a path if one is needed.

    Runs added by further seeds are left out. A configuration from `write_config` has them among its runs.
    """
    endings = tuple(f"_seed_{seed}" for seed in _listed(experiment.get("seeds")))
    return [
        name
        for name, run in experiment["runs"].items()
        if isinstance(run, dict)
        and (not isinstance(names, list | tuple) or name in names)
        and not run.get("weights")
        and not (name.endswith(endings) and name.rpartition("_seed_")[0] in experiment["runs"])
        and not (needs_path and run.get("path") is None)
    ]


def _listed(value: Any) -> Sequence[Any]:
    """Return a list of the configuration; a malformed one counts as empty."""
    return value if isinstance(value, list | tuple) else ()


def _word(value: Any) -> str:
    """Return a value, or the name and options of a choice, as a part of a run's name."""
    if isinstance(value, dict):
        options = [part for key, inner in value.items() if key != "name" for part in (key, _word(inner))]
        return "_".join([str(value["name"]), *options] if "name" in value else options)
    return re.sub("[^0-9A-Za-z]", "_", f"{value:g}" if isinstance(value, float) else str(value))


def added_runs(raw: dict[str, Any], expanded: dict[str, Any]) -> set[tuple[str, ...]]:
    """Return the keys of the runs that seeds, sweeps and searches added to a tree."""
    given = dict(_runs(raw))
    return {("experiments", name, "runs", run) for name, runs in _runs(expanded) for run in runs.keys() - given[name]}


def problems_of_weights(expanded: dict[str, Any]) -> list[Problem]:
    """Return a problem for each run whose `weights` names a run that does not exist or has no weights of its own."""
    problems = []
    for name, runs in _runs(expanded):
        trained = [other for other, run in runs.items() if not run.get("weights")]
        for run, block in runs.items():
            if isinstance(other := block.get("weights"), str) and other not in trained:
                reason = f"no run with weights of its own; {did_you_mean(other, trained)}"
                problems.append(Problem(("experiments", name, "runs", run, "weights"), other, reason))
    return problems


def _runs(expanded: dict[str, Any]) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    experiments = expanded.get("experiments")
    for name, block in experiments.items() if isinstance(experiments, dict) else ():
        if isinstance(block, dict) and isinstance(block.get("runs"), dict):
            yield name, {run: values for run, values in block["runs"].items() if isinstance(values, dict)}
