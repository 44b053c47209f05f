"""The examples in docstrings run. They assume `import torch` and `from pipeline.flow import *`."""

import doctest
import importlib
import pkgutil

import pytest
import torch

import pipeline.flow
from pipeline.flow import public
from pipeline.flow.grids import GRIDS
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import PATHS
from pipeline.flow.registry import Registry
from pipeline.flow.schedulers import SCHEDULERS
from pipeline.flow.schemes import SCHEMES
from pipeline.flow.steps import STEPS
from pipeline.flow.velocities import VELOCITIES

MODULES = [
    "pipeline.flow",
    *(module.name for module in pkgutil.walk_packages(pipeline.flow.__path__, "pipeline.flow.")),
]
NAMES = {name: getattr(public, name) for name in public.__all__}
PUBLIC = {"pipeline.flow", "pipeline.flow.sources"} | {
    value.__module__ for value in NAMES.values() if getattr(value, "__module__", "").startswith("pipeline.flow.")
}
REGISTRIES: list[Registry] = [PATHS, VELOCITIES, LOSSES, STEPS, SCHEDULERS, SCHEMES, GRIDS]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in REGISTRIES:  # an example may register something
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    module = importlib.import_module(name)
    tests = doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs={"torch": torch, **NAMES})
    runner, output = doctest.DocTestRunner(optionflags=OPTIONS), []
    for test in tests:
        runner.run(test, out=output.append)
    assert not runner.summarize(verbose=False).failed, "".join(output)
    assert runner.tries or name not in PUBLIC - {"pipeline.flow.errors"}, "a public module needs an example"


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.noun)
def test_everything_that_can_be_chosen_by_name_has_an_example(registry: Registry) -> None:
    for name in registry.names():
        entry = registry.get(name)
        if entry.__module__.startswith("pipeline."):  # other tests register some of their own
            assert ">>>" in (entry.__doc__ or ""), name
