"""The forms of a table: CSV with all digits, Markdown to read, and its numbers as JSON.

In Markdown, rates have their intervals in one cell, and what all rows share stands below the table.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.report.columns import ERROR, HIGH, LOW
from pipeline.store.atomic import write_json

Row = dict[str, Any]
NOT_RUN = "not run"


def as_csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return the rows with all digits; missing cells are empty, or "not run" if the run was not made."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([row.get(column, NOT_RUN if row.get("absent") else "") for column in columns])
    return stream.getvalue()


def markdown_table(
    ours: Sequence[Row], theirs: Sequence[Row], conditions: Sequence[str], metrics: Sequence[str]
) -> str:
    """Return rows with four significant digits; conditions that all our rows share are given once, below.

    The first condition is the name of a row. `x_low` and `x_high` are shown as the interval of `x`, `x_error` as its
    standard error. A row of ours with `absent` was not run.
    """
    shared = shared_by(ours, conditions[1:])
    bounds = {key + suffix for key in metrics for suffix in (LOW, HIGH, ERROR)}
    columns = [key for key in [*conditions, *metrics] if key not in shared and key not in bounds]
    lines = [[column.replace("_", " ") for column in columns]]
    lines += [[_cell(row, column) for column in columns] for row in [*ours, *theirs]]
    table = pipe_table(lines[0], lines[1:])
    notes = [f"{key.replace('_', ' ')}: {rounded(value)}" for key, value in shared.items()]
    rows = "all rows of ours" if theirs else "all rows"
    return table + (f"\nThe same in {rows} that have it: {'; '.join(notes)}.\n" if notes else "")


def pipe_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown whose columns are aligned."""
    lines = [headings, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(headings))]
    lines.insert(1, ["-" * width for width in widths])
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in padded)


def write_numbers(target: Path, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Write {row: {metric: number}} to compare versions with `dvc metrics diff`, without rows that have no numbers."""
    numbers = {name: {key: value for key, value in row.items() if _is_number(value)} for name, row in rows.items()}
    write_json(target, {name: row for name, row in numbers.items() if row})


def shared_by(rows: Sequence[Row], conditions: Sequence[str]) -> Row:
    """Return the conditions that have the same value in all rows that have them, if there are several such rows."""
    values = {key: [row[key] for row in rows if key in row] for key in conditions if key != "origin"}
    return {key: one[0] for key, one in values.items() if len(one) > 1 and all(value == one[0] for value in one)}


def _cell(row: Row, column: str) -> str:
    if column not in row:
        return NOT_RUN if row.get("absent") else ""
    low, high = row.get(column + LOW), row.get(column + HIGH)
    interval = f" [{rounded(low)}, {rounded(high)}]" if low is not None and high is not None else ""
    error = f" ± {row[column + ERROR]:.2g}" if row.get(column + ERROR) else ""
    return rounded(row[column]) + interval + error


def rounded(value: Any, digits: int = 4) -> str:
    """Return a number with so many significant digits; anything else as it is.

    >>> rounded(123456.0), rounded(0.012345, 3)
    ('123456', '0.0123')
    """
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
