"""Ways to damage bytes, text and configurations, as hypothesis strategies."""

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

ODD = [
    *(
        b"nan",
        b"inf",
        b"-inf",
        b"-1",
        b"0",
        b"-0.0",
        b"1e400",
        b"1e-320",
        b"1e26",
        b"99999999999999999999",
        b"1" * 5000,
    ),
    *(b"\x00", b"\xff\xfe", b"\xed\xa0\x80", "ü".encode(), b"\n", b"\r", b"\t", b" ", b"'", b'"', b"?", b".", b"1(2)"),
    *(b"data_", b"loop_", b"D", b"Xx", b"{", b"[", b"[" * 2000, b"&a", b"*a", b"<<: *a", b"!!python/object:os.system"),
    *(b"null", b"true", b"..", b"../", b"/", b"~", b"-", b"--", b"=", b":", b","),
]
FLOATS = [0.0, -1.0, 0.5, 1.5, 1e-320, 1e-9, 1e9, 1e26, 1e300, -1e300]
INTEGERS = [-(10**30), -1, 0, 1, 2, 3, 7, 255, 10**6, 2**31, 2**53, 2**63, 10**30]
WORDS = ["", "x", "none", "mask", "../../x", "/etc", "~", "a/b", "{x}", "-x", "\n", "\x00", "ü" * 50, "x" * 3000, "1e3"]

Step = tuple[str, float, float, bytes]


def steps() -> st.SearchStrategy[list[Step]]:
    """Return some changes of bytes, each at a place and of a length given as shares of the whole."""
    kinds = st.sampled_from(["flip", "delete", "repeat", "insert", "truncate", "number", "line", "move"])
    share = st.floats(0, 1)
    small = st.floats(0, 0.1)
    return st.lists(st.tuples(kinds, share, small, st.one_of(st.sampled_from(ODD), st.binary(max_size=6))), max_size=5)


def damaged(content: bytes, changes: list[Step]) -> bytes:
    """Return bytes after some changes."""
    for kind, where, length, odd in changes:
        content = _CHANGES[kind](content, int(where * len(content)), int(length * len(content)) + 1, odd)
    return content[: 1 << 20]


def _flip(content: bytes, at: int, size: int, odd: bytes) -> bytes:
    byte = content[at : at + 1]
    return content[:at] + bytes(value ^ (1 << (size % 8)) for value in byte) + content[at + 1 :]


def _number(content: bytes, at: int, size: int, odd: bytes) -> bytes:
    """Replace the next number by something odd."""
    found = re.compile(rb"-?\d+(\.\d+)?").search(content, at)
    return content if found is None else content[: found.start()] + odd + content[found.end() :]


def _line(content: bytes, at: int, size: int, odd: bytes) -> bytes:
    """Leave out the line, or if the length is odd, write it twice."""
    lines = content.splitlines(keepends=True)
    number = content.count(b"\n", 0, at)
    return b"".join(lines[:number] + lines[number : number + 1] * (size % 2 * 2) + lines[number + 1 :])


_CHANGES: dict[str, Callable[[bytes, int, int, bytes], bytes]] = {
    "flip": _flip,
    "delete": lambda content, at, size, odd: content[:at] + content[at + size :],
    "repeat": lambda content, at, size, odd: content[: at + size] + content[at : at + size] * 3 + content[at + size :],
    "insert": lambda content, at, size, odd: content[:at] + odd + content[at:],
    "truncate": lambda content, at, size, odd: content[:at],
    "number": _number,
    "line": _line,
    "move": lambda content, at, size, odd: content[at:] + content[:at],
}


def values() -> st.SearchStrategy[Any]:
    """Return odd values of a configuration, and trees of such."""
    leaves = st.one_of(
        st.none(), st.booleans(), st.sampled_from(INTEGERS), st.sampled_from(FLOATS), st.sampled_from(WORDS)
    )
    keys = st.sampled_from([*WORDS, "name"])
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=6,
    )


def tree_changes() -> st.SearchStrategy[list[tuple[str, float, Any]]]:
    """Return some changes of a tree, each at a place given as a share of all places."""
    kinds = st.sampled_from(["replace", "replace", "replace", "remove", "add", "rename", "deepen", "copy"])
    return st.lists(st.tuples(kinds, st.floats(0, 1), values()), min_size=1, max_size=4)


def changed(tree: Any, changes: list[tuple[str, float, Any]]) -> Any:
    """Return a tree after some changes."""
    tree = copy.deepcopy(tree)
    for kind, where, value in changes:
        places = list(_places(tree))
        if not places:
            return tree
        holder, key = places[int(where * (len(places) - 1))]
        if kind == "replace":
            holder[key] = value
        elif kind == "remove":
            del holder[key]
        elif kind == "deepen":
            for _ in range(20):
                holder[key] = {"a": holder[key]}
        elif kind == "copy":
            other, name = places[(int(where * 7919)) % len(places)]
            holder[key] = copy.deepcopy(other[name])
        elif isinstance(holder, dict):
            name = str(value)[:30]
            holder[name] = holder.pop(key) if kind == "rename" else value
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place of a tree, as what holds it and its key."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else []:
        yield tree, key
        yield from _places(tree[key])
