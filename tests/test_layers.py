"""The layers of the package: what lies lower imports nothing of what lies higher."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pipeline"
# From the lowest to the highest. Packages of one layer do not import each other, but for those named in BESIDE.
LAYERS = (
    ("errors", "__init__"),
    ("flow", "store"),
    ("config",),
    ("fetch", "tokens"),
    ("networks",),
    ("training", "sampling", "scoring", "report"),
    ("known", "crystals", "text", "images", "weights"),
    ("page",),
    ("stages",),
    ("inspect",),
    ("commands",),
    ("cli",),
    ("__main__",),
)
BESIDE = {("scoring", "sampling"), ("report", "sampling")}  # both look at samples
NOT = {("training", "flow"), ("training", "tokens"), ("report", "flow")}  # engines that need less than they may have
HEIGHT = {package: height for height, layer in enumerate(LAYERS) for package in layer}


def imports_of(source: str) -> Iterator[str]:
    """Yield the parts of the package that a module imports, wherever the import stands."""
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "pipeline":
            names = [f"pipeline.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            first, *rest = name.split(".")
            if first == "pipeline":
                yield rest[0] if rest and rest[0] in HEIGHT else "__init__"


def is_allowed(package: str, imported: str) -> bool:
    if package == imported or (package, imported) in BESIDE:
        return True
    return HEIGHT[imported] < HEIGHT[package] and (package, imported) not in NOT


def broken_by(package: str, source: str) -> list[str]:
    """Return what a module of a package must not import but does."""
    return sorted({imported for imported in imports_of(source) if not is_allowed(package, imported)})


def modules() -> list[tuple[str, Path]]:
    files = [file.relative_to(PACKAGE) for file in sorted(PACKAGE.rglob("*.py"))]
    return [(file.parts[0].removesuffix(".py"), file) for file in files]


def test_no_module_imports_from_above_its_layer() -> None:
    found = {str(file): broken_by(package, (PACKAGE / file).read_text("utf-8")) for package, file in modules()}
    assert {file: broken for file, broken in found.items() if broken} == {}


def test_every_module_has_a_layer_and_nothing_lies_loose() -> None:
    assert {package for package, _ in modules()} == set(HEIGHT)
    assert {file.name for file in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py", "cli.py", "errors.py"}


@pytest.mark.parametrize(
    "package, line",
    [
        ("training", "from pipeline.flow.elbo import mixture_elbo"),
        ("flow", "from pipeline.store.atomic import write_json"),
        ("flow", "from pipeline import config"),
        ("store", "import pipeline.flow.state"),
        ("config", "def lazily():\n    from pipeline.report.tables import make_table"),
        ("crystals", "from pipeline.images.picture import read"),
        ("sampling", "from pipeline.crystals.tokens import decode"),
        ("scoring", "from pipeline.images.pictures import Pictures"),
    ],
)
def test_the_law_is_broken_by(package: str, line: str) -> None:
    assert broken_by(package, line) != []


def test_the_law_allows_what_lies_below() -> None:
    assert (
        broken_by("stages", "from pipeline.training.loop import fit\nimport torch\nfrom pipeline import errors") == []
    )
