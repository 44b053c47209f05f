"""The table of protocols: the same crystals, counted under different choices."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.config.plugins import PROTOCOLS
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.protocols import ProtocolEvidence
from pipeline.crystals.table import Row, crystal_of, records_of
from pipeline.report.formats import as_csv, pipe_tables, wrapped, write_numbers
from pipeline.report.summary import cell
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


def summary_text(rows: Mapping[str, Sequence[Row]]) -> str:
    """Return Markdown: for each protocol a row per run with its rates, what they count, and what is not computed."""
    parts: list[str] = []
    for protocol in dict.fromkeys(row["protocol"] for of_run in rows.values() for row in of_run):
        by_run = {
            run: {row["measure"]: row for row in of_run if row["protocol"] == protocol} for run, of_run in rows.items()
        }
        said = {measure: row for of_run in by_run.values() for measure, row in of_run.items()}
        said |= {measure: row for of_run in by_run.values() for measure, row in of_run.items() if "rate" in row}
        counted = [measure for measure, row in said.items() if "rate" in row]
        if counted:
            lines = [[run, *(_share(of_run.get(measure, {})) for measure in counted)] for run, of_run in by_run.items()]
            headings = [f"{protocol}: {measure}, %" for measure in counted]
            parts += pipe_tables(["run", *headings], lines)
        parts.append("".join(wrapped(f"- {_meaning(row)}", "  ") for row in said.values()))
    parts.append("[low, high]: interval that has the true value in 95 % of all cases\n")
    return "\n".join(parts)


def _share(row: Row) -> str:
    return f"{cell(row, 'rate')} of {row['n']}" if "rate" in row else ""


def _meaning(row: Row) -> str:
    missing = "" if "rate" in row else f"not computed, missing: {row.get('not computed') or 'crystals'}; "
    choices = f"{row['threshold']}; hull: {row['hull']}; energies: {row['energy model']}; {row['matcher']}"
    return f"{row['protocol']}, {row['measure']}: {missing}{choices}; of {row['denominator']}"


def write_protocols(rows: Mapping[str, Sequence[Row]], csv: Path, markdown: Path, numbers: Path) -> None:
    """Write the rows of each run as CSV, Markdown, and JSON with the numbers of each run, protocol and measure."""
    every = [{"run": run} | row for run, of_run in rows.items() for row in of_run]
    write_text(csv, as_csv(every, ["run", *CONDITIONS, *NUMBERS]))
    write_text(markdown, summary_text(rows))
    write_numbers(numbers, {f"{row['run']}, {row['protocol']}, {row['measure']}": row for row in every})
