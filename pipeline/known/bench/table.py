"""The table of a bench: one row for each sampler and number of steps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.config import Oracle
from pipeline.known.bench.errors import EXCESS, PAIRS, TRIPLES, interval
from pipeline.known.bench.rows import CONDITIONS
from pipeline.report.formats import Row, as_csv, markdown_table, write_numbers
from pipeline.store.atomic import write_text

MEASURES = (PAIRS, TRIPLES, EXCESS)


def make_table(
    measured: Sequence[Mapping[str, Any]], oracle: Oracle, *, table: Path, markdown: Path, numbers: Path
) -> None:
    """Write the mean errors with their intervals over distributions."""
    rows = [one["conditions"] | _errors(one["errors"]) for one in measured]
    present = [name for name in MEASURES if any(name in row for row in rows)]
    columns = [key for name in present for key in (name, f"{name}_low", f"{name}_high")]
    write_text(table, as_csv(rows, [*CONDITIONS, *columns]))
    write_text(markdown, f"{markdown_table(rows, [], CONDITIONS, columns)}\n{_about(oracle)}\n")
    write_numbers(
        numbers, {" ".join(str(one[key]) for key in CONDITIONS if key in one): _of(one, columns) for one in rows}
    )


def _about(oracle: Oracle) -> str:
    """Return what the numbers are."""
    exact = "The laws of the samplers are exact: there is no sampling error."
    drawn = f"{oracle.count} samples of each distribution; samples of the truth itself have errors, too."
    return (
        "pairs, triples: total variation between neighbours and the truth. excess nats: mean of -log q of the samples "
        "minus the entropy of q, for each token; below zero if likely sequences are preferred. 95 % intervals are over "
        f"distributions, if there are several. {exact if oracle.law == 'exact' else drawn} The posterior is exact in "
        "all rows. NFE counts its evaluations."
    )


def _errors(errors: Mapping[str, Sequence[float]]) -> Row:
    found: Row = {}
    for name, values in errors.items():
        found |= dict(zip((name, f"{name}_low", f"{name}_high"), interval(values), strict=False))  # one has no interval
    return found


def _of(row: Row, columns: Sequence[str]) -> Row:
    return {key: row[key] for key in columns if key in row}
