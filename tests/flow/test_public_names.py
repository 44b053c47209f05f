"""The public names of the package, which are imported on first use."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline.flow
from pipeline.flow import public

PACKAGE = Path(__file__).parents[2] / "pipeline"


@pytest.mark.parametrize("name", public.__all__)
def test_a_public_name_can_be_imported(name: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"from pipeline.flow import {name}", namespace)
    assert namespace[name] is getattr(public, name)


def test_everything_that_the_list_imports_is_public() -> None:
    imported = {
        alias.name
        for node in ast.parse(Path(public.__file__).read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == set(public.__all__)
    assert imported <= set(dir(pipeline.flow))


def test_a_star_import_gives_the_public_names() -> None:
    namespace: dict[str, object] = {}
    exec("from pipeline.flow import *", namespace)
    assert set(public.__all__) <= namespace.keys()


def test_no_public_name_hides_a_module() -> None:
    assert not {module.name for module in pkgutil.iter_modules(pipeline.flow.__path__)} & set(public.__all__)


def test_modules_are_still_imported_from_the_package() -> None:
    from pipeline.flow import sources

    assert sources is importlib.import_module("pipeline.flow.sources")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'pipeline\.flow' has no attribute 'sampel'"):
        _ = pipeline.flow.sampel


@pytest.mark.parametrize("module", ["pipeline.flow", "pipeline.flow.errors"])
def test_importing_the_package_does_not_import_torch(module: str) -> None:
    code = f"import {module}, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, check=True)


def test_our_own_modules_import_from_the_module_that_defines_a_name() -> None:
    """Dependencies are read off the imports, and `from pipeline.flow import sample` would hide the sampler."""
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "pipeline.flow":
                assert not {alias.name for alias in node.names} & set(public.__all__), file
