"""A page whose numbers are read from tables: a Jinja template that names a table, a row and a column for each."""

import csv
from pathlib import Path

from pipeline.errors import KinoflowError, did_you_mean
from pipeline.report.formats import Row


class EvidenceError(KinoflowError):
    """A page that asks for a number which no table has."""


def page_of(template: Path, root: Path) -> str:
    """Return the page of a template; tables are CSV files below `root`.

    In the template, `{{ cell("results/oracle/tables/claims.csv", "error_ratio", claim="...") }}` is the text of a cell,
    and `{{ number(...) | round(2) }}` its number. The row is the only one with these values.
    `rows(table, claim="...")` are all rows that have them; there must be some.
    """
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)
    tables = Tables(root)

    def number(table: str, column: str, **row: object) -> float:
        text = tables.cell(table, column, **row)
        try:
            return float(text)
        except ValueError as error:
            raise EvidenceError(f"{table}: {column} of {_named(row)} is {text!r}, not a number") from error

    try:
        source = template.read_text(encoding="utf-8")
        return environment.from_string(source).render(cell=tables.cell, number=number, rows=tables.rows)
    except OSError as error:
        raise EvidenceError(f"{template}: cannot be read ({error.strerror}); check the path") from error
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        raise EvidenceError(f"{template}{f', line {line}' if line else ''}: {error.message}") from error


class Tables:
    """The CSV tables below a folder; each is read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read: dict[str, list[Row]] = {}

    def rows(self, table: str, **values: object) -> list[Row]:
        """Return the rows with these values."""
        path = self.root / table
        if table not in self._read:
            try:
                with path.open(encoding="utf-8", newline="") as stream:
                    self._read[table] = list(csv.DictReader(stream))
            except OSError as error:
                raise EvidenceError(f"{path}: cannot be read ({error.strerror}); make the table first") from error
        found = [row for row in self._read[table] if all(row.get(key) == str(value) for key, value in values.items())]
        if not found:
            raise EvidenceError(f"{path}: no row has {_named(values)}")
        return found

    def cell(self, table: str, column: str, **values: object) -> str:
        """Return a cell of the only row with these values."""
        found = self.rows(table, **values)
        if len(found) > 1:
            raise EvidenceError(f"{self.root / table}: {len(found)} rows have {_named(values)}; name one row")
        if column not in found[0]:
            raise EvidenceError(
                f"{self.root / table}: has no column {column!r}; {did_you_mean(column, list(found[0]))}"
            )
        return str(found[0][column])


def _named(row: dict[str, object]) -> str:
    return ", ".join(f"{key} {value!r}" for key, value in row.items()) or "any values"
