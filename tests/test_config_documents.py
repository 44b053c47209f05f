"""The configuration's schema and its explanation follow the code."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pipeline.config.loading import read_yaml, with_numbers

ROOT = Path(__file__).parents[1]
STORED = (ROOT / "workflow/schemas/config.schema.yaml").read_text()
SCHEMA = yaml.safe_load(STORED)


def test_the_schema_file_is_the_one_that_the_code_gives() -> None:
    # In a process of its own: other tests register paths of theirs.
    command = [sys.executable, "-m", "pipeline", "schema"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert made == STORED, "run `make schema`"


def keys_of(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties":
                yield from value
            yield from keys_of(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from keys_of(item)


def names_of(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from [schema["const"]] if "const" in schema else []
        for value in schema.values():
            yield from names_of(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from names_of(item)


def test_the_readme_explains_every_key_and_every_name() -> None:
    prose = re.sub(r"```.*?```", "", (ROOT / "config/README.md").read_text(), flags=re.DOTALL)
    words = {word for text in re.findall(r"`([^`]+)`", prose) for word in re.findall(r"\w+", text)}
    missing = sorted((set(keys_of(SCHEMA)) | set(names_of(SCHEMA))) - words)
    assert not missing, f"explain in config/README.md: {', '.join(missing)}"


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_scale_fits_the_schema(path: Path) -> None:
    jsonschema.validate(with_numbers(read_yaml(path)), SCHEMA)


@pytest.mark.parametrize(
    "path, value",
    [
        ("sede", 1),
        ("experiments.checkerboard.training.stepz", 1),
        ("experiments.checkerboard.model.widht", 1),
        ("experiments.checkerboard.scoring.nothing", {}),
        ("experiments.checkerboard.runs.metric.path.lpp", 1),
        ("experiments.checkerboard.runs.metric.loss", "cross"),
    ],
)
def test_the_schema_refuses_unknown_keys_and_names(path: str, value: Any) -> None:
    config = yaml.safe_load((ROOT / "config/demo.yaml").read_text())
    *parents, key = path.split(".")
    place = config
    for parent in parents:
        place = place[parent]
    place[key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(with_numbers(config), SCHEMA)
