"""The paper's own numbers, to print beside ours."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("paper.yaml")
Row = dict[str, Any]


def paper_tables() -> list[str]:
    """Return the labels of the paper's tables."""
    return list(_tables())


def rows_of_paper(table: str) -> list[Row]:
    """Return the rows of one of the paper's tables; `ours` in a row names our matching run."""
    return _tables()[table]


@cache
def _tables() -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return tables
