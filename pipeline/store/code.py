"""A hash of a stage's code: of the modules that it imports, directly or not, and of their data files.

Snakemake notices a changed shell command, but not a change in the package behind it. So this hash is a parameter of the
rules: after an edit of the sampler, samples are drawn again but nothing is trained. Of the files that register paths
and velocities, only those that a run names count, so a new file affects no other run. Nothing is imported for this.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

PACKAGE = Path(__file__).parents[1]

# These modules only carry settings and records, which the rules track as parameters and outputs.
PLUMBING = (
    "pipeline.config",
    "pipeline.stages.declaration",
    "pipeline.stages.job",
    "pipeline.stages.parameters",
    "pipeline.store.code",
    "pipeline.store.journal",
    "pipeline.store.progress",
    "pipeline.store.provenance",
    "pipeline.store.tensor_journal",
)
# These packages import every module in their folder. Each kind of choice looks in one package only: a path may name a
# scheduler that has the name of a velocity.
REGISTRIES = {
    "PathChoice": "pipeline.flow.paths",
    "LossChoice": "pipeline.flow.velocities",
    "VelocityChoice": "pipeline.flow.velocities",
    "SchemeChoice": "pipeline.flow.schemes",
}


@dataclass(frozen=True)
class _Contents:
    """What is in a file: a hash of its code or data, what it imports from this package, and its string constants."""

    digest: bytes
    imports: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()


def code_hash(*modules: str) -> str:
    """Return a hash of modules and all that they import; comments and docstrings do not count."""
    code = hashlib.sha256()
    for file in files_of(*modules):
        code.update(_contents(file).digest)
    return code.hexdigest()


def _contents(file: Path) -> _Contents:
    status = file.stat()
    return _read(file, status.st_mtime_ns, status.st_size)


@cache
def _read(file: Path, modified: int, size: int) -> _Contents:
    """Return what is in a file; `modified` and `size` only make the cache notice a change."""
    if file.suffix != ".py":
        return _Contents(hashlib.sha256(file.read_bytes()).digest())
    tree = ast.parse(file.read_text("utf-8"))
    values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    constants, imports = frozenset(value for value in values if isinstance(value, str)), _imports(tree)
    return _Contents(hashlib.sha256(_without_words(tree)).digest(), imports, constants)


def files_of(*modules: str) -> list[Path]:
    """Return the files of `modules`, of all they import from this package, and of the data that they name, sorted."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found and not _is_plumbing(module):
            found.add(module)
            waiting += _contents(file).imports if (file := _file(module)) else ()
    code = [file for file in map(_file, found) if file is not None]
    return sorted({*code, *(data for file in code for data in _data(file))})


def _is_plumbing(module: str) -> bool:
    """Return whether a module is plumbing; so is `pipeline.stages`, which only lists the stages."""
    return module == "pipeline.stages" or f"{module}.".startswith(tuple(f"{one}." for one in PLUMBING))


def modules_named(*choices: BaseModel | None) -> list[str]:
    """Return the modules that register the paths, velocities and schemes named anywhere in parts of a configuration.

    Modules that those name in turn are included: a path may be made of others.
    """
    found: set[str] = set()
    for choice in filter(None, choices):
        names, known = set(_texts(choice.model_dump())), _registered(REGISTRIES[type(choice).__name__])
        while new := {module: file for module, file, registered in known if module not in found and names & registered}:
            found |= new.keys()
            names = names.union(*(_contents(file).constants for file in new.values()))
    return sorted(found)


@cache  # a plan asks for each of its jobs
def constant_of(module: str, name: str, default: object) -> object:
    """Return the literal that a module assigns to `name`, without importing the module."""
    file = _file(module)
    for statement in ast.parse(file.read_text("utf-8")).body if file else ():
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return ast.literal_eval(statement.value)  # type: ignore[attr-defined]
    return default


def _file(module: str) -> Path | None:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


@cache  # the workflow asks once per job
def _data(file: Path) -> tuple[Path, ...]:
    """Return the JSON and YAML files in a module's folder, or below it, that the module names."""
    constants = _contents(file).constants
    names = {text for text in constants if text.endswith((".json", ".yaml")) and "/" not in text}
    return tuple(found for name in sorted(names) for found in file.parent.rglob(name))


def _imports(tree: ast.Module) -> frozenset[str]:
    """Return what a module imports from this package: modules, the packages they lie in, and names in them."""
    names: list[str] = []
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    own = [name.split(".") for name in names if name.split(".")[0] == PACKAGE.name]
    return frozenset(".".join(parts[:length]) for parts in own for length in range(2, len(parts) + 1))


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a syntax tree, except those under `if TYPE_CHECKING`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and getattr(child.test, "id", None) == "TYPE_CHECKING"):
            yield from _executed(child)


@cache
def _registered(package: str) -> tuple[tuple[str, Path, frozenset[str]], ...]:
    """Return the modules of a package, each with its file and the names that it registers."""
    found = []
    for file in sorted(PACKAGE.joinpath(*package.split(".")[1:]).glob("*.py")):
        calls = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)]
        first = [call.args[0] for call in calls if getattr(call.func, "attr", None) == "register" and call.args]
        names = frozenset(str(argument.value) for argument in first if isinstance(argument, ast.Constant))
        found.append((package if file.stem == "__init__" else f"{package}.{file.stem}", file, names))
    return tuple(found)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _without_words(tree: ast.Module) -> bytes:
    """Return a module without docstrings, and without comments and line breaks that are not needed.

    This changes the tree.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.unparse(tree).encode()
