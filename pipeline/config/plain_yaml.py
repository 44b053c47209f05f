"""YAML of plain values: no duplicate keys, and bounded, whatever its aliases stand for.

An alias is read once, but every later step sees it as often as it is written: eight lines can stand for 10^8 values.
"""

from typing import Any

import yaml

MOST_VALUES = 100_000  # of a configuration; the largest of ours has about 4,000
DEEPEST = 60  # levels; the deepest of ours has 8
LARGEST = 4_000_000  # characters


_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first one is in C, and faster


class _UniqueKeySafeLoader(_SafeLoader):  # type: ignore[misc, valid-type]
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


def plain_yaml(text: str) -> Any:
    """Return the value in a YAML text; raise a ValueError that says what is wrong with it."""
    if len(text) > LARGEST:
        raise ValueError(f"{len(text):,} characters; a configuration has at most {LARGEST:,}")
    try:
        _check_depth(text)
        loader = _UniqueKeySafeLoader(text)
        node = loader.get_single_node()
        if node is not None:
            _check_size(node)
        return None if node is None else loader.construct_document(node)
    except Exception as error:  # PyYAML may raise anything for a value that is not what its tag says
        raise ValueError(str(error) or type(error).__name__) from error


def _check_depth(text: str) -> None:
    """Raise if a text is nested so deep that reading it whole would overflow the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"line {event.start_mark.line + 1}: nested too deep; at most {DEEPEST} levels are read")


def _check_size(root: yaml.Node) -> None:
    """Raise unless a tree of YAML, with each alias in place of itself, is finite, flat and small."""
    sizes: dict[int, int] = {}

    def size(node: yaml.Node, above: tuple[int, ...]) -> int:
        line = node.start_mark.line + 1
        if id(node) in above:
            raise ValueError(f"line {line}: an alias stands for a part of itself; write the values out")
        if len(above) >= DEEPEST:
            raise ValueError(f"line {line}: nested too deep; at most {DEEPEST} levels are read")
        if id(node) not in sizes:
            parts = node.value if isinstance(node, yaml.CollectionNode) else []
            inner = [one for part in parts for one in (part if isinstance(part, tuple) else (part,))]
            sizes[id(node)] = 1 + sum(size(one, (*above, id(node))) for one in inner)
            if sizes[id(node)] > MOST_VALUES:
                what = f"stands for more than {MOST_VALUES:,} values once its aliases are written out"
                raise ValueError(f"line {line}: {what}; make it smaller")
        return sizes[id(node)]

    size(root, ())
