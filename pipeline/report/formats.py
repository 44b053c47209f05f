"""The forms of a table: CSV with all digits, Markdown to read, and its numbers as JSON.

In Markdown, rates have their intervals in one cell, and what all rows share stands below the table. No line has more
than 99 characters.
"""

import csv
import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.report.columns import ERROR, HIGH, LOW
from pipeline.store.atomic import write_json

Row = dict[str, Any]
NOT_RUN = "not run"
WIDTH = 99  # characters of a line
LONG, LONGEST_NAME = 24, 48  # characters of a condition, and of the name of a row; longer ones have a number instead


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
    """Return rows with four significant digits, in tables whose lines have less than 100 characters.

    The first condition is the name of a row. Conditions that all our rows share are given once, below; so are long
    ones, by number. If there are more columns than fit, the next ones are in a table below. `x_low` and `x_high` are
    shown as the interval of `x`, `x_error` as its standard error. A row of ours with `absent` was not run.
    """
    shared = shared_by(ours, conditions[1:])
    bounds = {key + suffix for key in metrics for suffix in (LOW, HIGH, ERROR)}
    known = {key for row in ours for key in row} if ours else {key for row in theirs for key in row}
    columns = [key for key in [*conditions, *metrics] if key in known and key not in shared and key not in bounds]
    cells = {key: [_cell(row, key) for row in [*ours, *theirs]] for key in columns}
    numbered: dict[str, int] = {}
    for key in conditions:
        if key in cells and max(map(len, cells[key])) > (LONGEST_NAME if key == columns[0] else LONG):
            numbers = [numbered.setdefault(text, len(numbered) + 1) if text else "" for text in cells[key]]
            cells[key] = [f"[{number}]" if number else "" for number in numbers]
    parts = ["\n".join(_tables(columns, cells))]
    notes = [f"{key.replace('_', ' ')}: {rounded(value)}" for key, value in shared.items()]
    rows = "all rows of ours" if theirs else "all rows"
    parts += [wrapped(f"The same in {rows} that have it: {'; '.join(notes)}.")] if notes else []
    parts += ["".join(wrapped(f"- [{number}] {text}", "  ") for text, number in numbered.items())] if numbered else []
    return "\n".join(parts)


def _tables(columns: Sequence[str], cells: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield tables that are narrow enough, each with the first column and as many of the others as fit."""
    rows = [list(row) for row in zip(*(cells[key] for key in columns), strict=True)]
    yield from pipe_tables([key.replace("_", " ") for key in columns], rows)


def pipe_tables(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield tables that are narrow enough, each with the first column and as many of the others as fit."""

    def table(places: Sequence[int]) -> str:
        return pipe_table([headings[place] for place in places], [[row[place] for place in places] for row in rows])

    chosen: list[int] = []
    for place in range(1, len(headings)):
        if chosen and table([0, *chosen, place]).index("\n") > WIDTH:
            yield table([0, *chosen])
            chosen = []
        chosen.append(place)
    yield table([0, *chosen])


def wrapped(text: str, indent: str = "") -> str:
    """Return a paragraph in lines that are narrow enough."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) + "\n"


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
