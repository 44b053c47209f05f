"""The table of protocols: the same crystals, counted under different choices."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.config.plugins import PROTOCOLS
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.protocols import ProtocolEvidence
from pipeline.crystals.table import Row, crystal_of, records_of
from pipeline.report.formats import as_csv, narrow_tables, wrapped, write_numbers
from pipeline.scoring.intervals import rate
from pipeline.store.atomic import write_text

CHOICES = ("hull", "energy model", "threshold", "matcher", "denominator")
CONDITIONS = ("protocol", "measure", *CHOICES, "not computed")
NUMBERS = ("rate", "rate_low", "rate_high", "n")
WIDTH = 98


def protocol_rows(
    assessed: pd.DataFrame,
    relaxed: pd.DataFrame,
    train: Sequence[Crystal] | None,
    *,
    hull: str,
    energy_model: str,
    workers: int,
    seconds: float,
) -> list[Row]:
    """Return a row for each rate of each protocol, in percent with its 95 % interval, or with what is missing for it.

    `hull` and `energy_model` name what the energies in `assessed` were computed with.
    """
    known = {row["id"]: row for row in records_of(relaxed)}
    crystals = [crystal_of(known[id]) if id in known else None for id in assessed["id"]]
    evidence = ProtocolEvidence(assessed, crystals, train, hull, energy_model, workers, seconds)
    rows: list[Row] = []
    for name in sorted(PROTOCOLS.names(), key=lambda name: (name != "ours", name)):
        for one in PROTOCOLS.load(name).rates(evidence):
            said = (one.hull, one.energy_model, one.threshold, one.matcher, one.denominator)
            row: Row = {"protocol": name, "measure": one.name, **dict(zip(CHOICES, said, strict=True))}
            found = {"not computed": one.missing} if one.missing else rate("rate", one.hits, one.total)
            rows.append(row | found | ({} if one.missing else {"n": one.total}))
    return rows


def protocol_text(rows: Sequence[Row]) -> str:
    """Return rows to print: each rate, and below it the five choices."""
    lines = []
    for row in rows:
        if "rate" in row:
            value = f"{row['rate']:.1f} % [{row['rate_low']:.1f}, {row['rate_high']:.1f}] of {row['n']}"
        else:
            value = f"not computed: {row.get('not computed') or 'there are no crystals'}"
        lines += textwrap.wrap(f"{row['protocol']}, {row['measure']}: {value}", WIDTH, subsequent_indent="    ")
        choices = "; ".join(f"{name}: {row[name]}" for name in CHOICES)
        lines += textwrap.wrap(choices, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def write_protocols(rows: Mapping[str, Sequence[Row]], csv: Path, markdown: Path, numbers: Path) -> None:
    """Write the rows of each run as CSV, Markdown, and JSON with the numbers of each run, protocol and measure."""
    every = [{"run": run} | row for run, of_run in rows.items() for row in of_run]
    write_text(csv, as_csv(every, ["run", *CONDITIONS, *NUMBERS]))
    write_text(markdown, _markdown(rows))
    write_numbers(numbers, {f"{row['run']}, {row['protocol']}, {row['measure']}": row for row in every})


def _markdown(rows: Mapping[str, Sequence[Row]]) -> str:
    """Return a line for each run, a column for each rate, and below them the choices of each rate."""
    measures: dict[str, Row] = {}
    cells: dict[str, dict[str, str]] = {}  # by rate and run
    for run, of_run in rows.items():
        for row in of_run:
            name = f"{row['protocol']}, {row['measure']}"
            measures.setdefault(name, row)
            if "rate" in row:
                value = f"{row['rate']:.3g} [{row['rate_low']:.3g}, {row['rate_high']:.3g}] of {row['n']}"
                cells.setdefault(name, {})[run] = value
    computed = [name for name in measures if name in cells]
    columns = {"run": list(rows)} | {name: [cells[name].get(run, "") for run in rows] for name in computed}
    parts = [*narrow_tables(list(columns), columns)]
    parts.append(wrapped("Rates in %, with their 95 % intervals, of so many crystals. What each rate means:"))
    parts.append("".join(_choices(name, measures[name]) for name in computed))
    for name, row in measures.items():
        if name not in cells:
            parts.append(wrapped(f"- {name}: not computed: {row.get('not computed') or 'there are no crystals'}", "  "))
    return "\n".join(parts)


def _choices(name: str, row: Row) -> str:
    return wrapped(f"- {name}: {'; '.join(f'{choice}: {row[choice]}' for choice in CHOICES)}", "  ")
