"""The numbers of our own rows of a table as JSON, to compare versions with `dvc metrics diff`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.store.atomic import write_json


def write_numbers(target: Path, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Write {row: {metric: number}} in the order of the rows, without other values and rows that have no numbers."""
    numbers = {name: {key: value for key, value in row.items() if _is_number(value)} for name, row in rows.items()}
    write_json(target, {name: row for name, row in numbers.items() if row})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
