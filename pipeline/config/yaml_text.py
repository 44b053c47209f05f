"""The YAML of configurations: no duplicate keys, plain values only, and 1e-3 is a number."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pipeline.config.problems import ConfigError, Problem

_PLAIN = re.compile(r"[A-Za-z0-9_.+-]+")
_SCIENTIFIC = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; a duplicate key is an error."""
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


class _UniqueKeySafeLoader(yaml.SafeLoader):
    """YAML's safe loader (plain values only) that also refuses duplicate keys."""

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
