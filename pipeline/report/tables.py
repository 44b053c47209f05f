"""The stage that makes an experiment's table: one row a run and reference, as CSV and Markdown."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.atomic import write_text
from pipeline.config import REFERENCES, Config
from pipeline.flow.errors import KinoflowError
from pipeline.provenance import write_provenance

NOT_RUN = "not run"
Row = dict[str, Any]


def make_table(config: Config, experiment: str, *, scores: Sequence[Path], table: Path, markdown: Path) -> None:
    """Write the table of an experiment's scores; a run without scores is shown as not run."""
    found = {}
    for path in scores:
        score = json.loads(path.read_text(encoding="utf-8"))
        run = score["conditions"]["run"]
        if run in found:
            raise KinoflowError(f"{path}: another file has the scores of run {run!r} already; give one of them")
        found[run] = score["conditions"] | score["metrics"]
    names = [*config.experiments[experiment].runs, *REFERENCES]
    rows = [found.get(name, {"run": name}) | {"run": REFERENCES.get(name, name)} for name in names]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    missing = [name not in found for name in names]
    write_text(table, as_csv(rows, columns, missing))
    write_text(markdown, as_markdown(rows, columns, missing))
    write_provenance([table, markdown], {"experiment": experiment, "runs": names}, config.seed, scores)


def as_csv(rows: Sequence[Row], columns: Sequence[str], missing: Sequence[bool]) -> str:
    """Return the rows with all digits."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row, absent in zip(rows, missing, strict=True):
        writer.writerow([row.get(column, NOT_RUN if absent else "") for column in columns])
    return stream.getvalue()


def as_markdown(rows: Sequence[Row], columns: Sequence[str], missing: Sequence[bool]) -> str:
    """Return the rows with four significant digits."""
    lines = [[column.replace("_", " ") for column in columns]]
    for row, absent in zip(rows, missing, strict=True):
        lines.append([_rounded(row.get(column, NOT_RUN if absent else "")) for column in columns])
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    lines.insert(1, ["-" * width for width in widths])
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in padded)


def _rounded(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
