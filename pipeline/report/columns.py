"""What the columns of scores are called, their units, what they mean, and which values are better."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

FILE = Path(__file__).with_name("columns.yaml")
LOW, HIGH, ERROR = "_low", "_high", "_error"


@dataclass(frozen=True)
class Column:
    """A column: label, meaning, unit, which values are `better` (lower, higher or ""), and whether it is a headline."""

    label: str
    meaning: str = ""
    unit: str = ""
    better: str = ""
    summary: bool = False

    @property
    def heading(self) -> str:
        """The label with the unit."""
        return f"{self.label}, {self.unit}" if self.unit else self.label

    def beats(self, one: float, other: float) -> bool:
        """Return whether one value is better than another."""
        return one < other if self.better == "lower" else self.better == "higher" and one > other


def column_of(name: str) -> Column:
    """Return what is known of a column; a column that is not in the file has its name as label.

    >>> column_of("perplexity_lambada").heading
    'perplexity lambada'
    """
    known = _columns()
    if name in known:
        return known[name]
    for pattern, column in known.items():
        if pattern.endswith("*") and name.startswith(pattern[:-1]):
            rest = name[len(pattern) - 1 :].replace("_", " ")
            return Column(f"{column.label} {rest}", column.meaning, column.unit, column.better, column.summary)
    return Column(name.replace("_", " "))


def values_in(names: Iterable[str]) -> list[str]:
    """Return the names that are values, without the bounds of intervals and the standard errors of others.

    >>> values_in(["rate", "rate_low", "rate_high", "bound_nats", "bound_error"])
    ['rate', 'bound_nats']
    """
    given = list(dict.fromkeys(names))
    return [name for name in given if not any(_belongs(name, end, given) for end in (LOW, HIGH, ERROR))]


def headlines(names: Iterable[str]) -> list[str]:
    """Return the columns of the short table among `names`, in the order of the file."""
    order = list(_columns())
    found = [name for name in values_in(names) if column_of(name).summary]
    return sorted(found, key=lambda name: next(place for place, known in enumerate(order) if _matches(name, known)))


def error_of(name: str, names: Collection[str]) -> str:
    """Return the column with the standard error of another; that of `bound_nats` is `bound_error`."""
    plain = f"{name}{ERROR}"
    return plain if plain in names else f"{name.removesuffix('_nats')}{ERROR}"


def _belongs(name: str, end: str, names: Collection[str]) -> bool:
    owner = name.removesuffix(end)
    return owner != name and (owner in names or (end == ERROR and f"{owner}_nats" in names))


def _matches(name: str, known: str) -> bool:
    return name == known or (known.endswith("*") and name.startswith(known[:-1]))


@cache
def _columns() -> dict[str, Column]:
    return {name: Column(**said) for name, said in yaml.safe_load(FILE.read_text(encoding="utf-8")).items()}
