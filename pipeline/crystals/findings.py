"""What an evaluation found, as text: a table for the terminal, a summary in Markdown, and files to look at."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pipeline.crystals.columns import readme
from pipeline.crystals.table import Row, records_of
from pipeline.report.columns import column_of

WIDTH = 99  # most characters of a line
ROWS = 30
HEADER = ("id", "formula", "verdict", "above hull", "group", "novelty", "invalid in")
UNITS = ("", "", "", "eV/atom", "", "", "")
CUT = (0, 5, 1)  # columns that are cut, one after the other, if a line would be too long
LEAST = 10  # characters that are left of them


def table(assessed: pd.DataFrame) -> list[str]:
    """Return a line for each structure that can be used; of more than ROWS, those lowest in energy."""
    rows, note = _shown(assessed)
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(HEADER, UNITS, *cells, strict=True)]
    for column in CUT:
        too_long = sum(widths) + 2 * len(widths) - 2 - WIDTH
        widths[column] -= max(0, min(too_long, widths[column] - LEAST))
    lines = [
        "  ".join(_fitted(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (HEADER, UNITS, *cells)
    ]
    return [*lines, note] if note else lines


def unusable(assessed: pd.DataFrame) -> list[str]:
    """Return a line for each structure that cannot be used, with the reason; after ROWS, their number."""
    rows = records_of(assessed.loc[assessed["reason"] != "", ["id", "reason"]])
    if not rows:
        return []
    lines = [f"{len(rows)} of {len(assessed)} cannot be used:"]
    lines += [f"  {_fitted(row['id'], 30).rstrip()}: {row['reason']}" for row in rows[:ROWS]]
    if len(rows) > ROWS:
        lines.append(f"  and {len(rows) - ROWS} more")
    return [_fitted(line, WIDTH).rstrip() for line in lines]


def summary(
    conditions: Mapping[str, Any], assessed: pd.DataFrame, scores: Mapping[str, float], files: Mapping[str, str]
) -> str:
    """Return the summary in Markdown: what was evaluated and how, scores with 95 % intervals, structures, files."""
    lines = ["# Evaluated crystals", "", *(f"- {name}: {value}" for name, value in conditions.items() if value)]
    lines += ["", "| score | value | 95 % interval |", "|---|---|---|"]
    lines += [f"| {name} | {number_text(value)} | {interval} |" for name, value, interval in with_intervals(scores)]
    rows, note = _shown(assessed)
    lines += ["", "| " + " | ".join(HEADER) + " |", "|---" * len(HEADER) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(row)) + " |" for row in rows]
    lines += ["", f"Energies above the hull are in eV/atom. {note}".rstrip(), ""]
    lines += [f"- {line.strip()}" if line.startswith(" ") else f"{line}\n" for line in unusable(assessed)]
    lines += ["", *(f"- `{name}`: {what}" for name, what in files.items())]
    return "\n".join(lines) + "\n"


def explanation(assessed: pd.DataFrame, files: Mapping[str, str]) -> str:
    """Return the README of the folder: its files, and the columns of structures.csv."""
    lines = ["# Evaluated crystals", "", *(f"- `{name}`: {what}" for name, what in files.items())]
    return "\n".join([*lines, "", "Columns of `structures.csv` and `.parquet`:", "", readme(map(str, assessed))])


def with_intervals(scores: Mapping[str, float]) -> list[tuple[str, float, str]]:
    """Return name, value and interval of each score; the interval is empty if there is none."""

    def interval(name: str) -> str:
        low, high = scores.get(f"{name}_low"), scores.get(f"{name}_high")
        if low is None or high is None:
            return ""
        return f"% [{low:.1f}, {high:.1f}]" if column_of(name).unit == "%" else f"[{low:.4g}, {high:.4g}]"

    names = [name for name in scores if not name.endswith(("_low", "_high"))]
    return [(name, scores[name], interval(name)) for name in names]


def number_text(value: float) -> str:
    """Return a number with four digits; a whole one with all of them."""
    return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"


def _shown(assessed: pd.DataFrame) -> tuple[Sequence[Row], str]:
    """Return the rows to show, and what is said if there are more. Of many, those that repeat another are left out."""
    usable = assessed[assessed["reason"] == ""]
    if len(usable) <= ROWS:
        return records_of(usable), ""
    first = usable[(usable["kind"] == usable["id"]) | (usable["kind"] == "")]
    ordered = "energy_above_hull" in first
    if ordered:
        first = first.sort_values("energy_above_hull", kind="stable")
    shown, total = min(ROWS, len(first)), f"{len(usable)}, without those that repeat another"
    return records_of(
        first.head(ROWS)
    ), f"the {shown} lowest in energy of {total}" if ordered else f"the first {shown} of {total}"


def _cells(row: Row) -> tuple[str, ...]:
    structure, composition = row["structural_valid"], row["composition_valid"]
    invalid = " and ".join(["structure"] * (not structure) + ["composition"] * (not composition))
    return (row["id"], row["formula"], _verdict(row), _energy(row), _group(row), _novelty(row), invalid or "-")


def _verdict(row: Row) -> str:
    """Return the verdict, or in a few words why there is none."""
    if not math.isfinite(row.get("energy_above_hull", math.nan)):
        reason = row["relax_reason"] if not math.isfinite(row["energy_per_atom"]) else row["hull_reason"] or "no hull"
        return str(reason).partition(":")[0]
    if row.get("verdict"):
        return str(row["verdict"])
    return "stable" if row["stable"] else "metastable" if row["metastable"] else "unstable"


def _energy(row: Row) -> str:
    above, error = row.get("energy_above_hull", math.nan), row.get("uncertainty", math.nan)
    if not math.isfinite(above):
        return ""
    return f"{above:+.3f} ± {error:.3f}" if math.isfinite(error) else f"{above:+.3f}"


def _group(row: Row) -> str:
    """Return the symbol of the space group after relaxation or, without one, as given."""
    from pymatgen.symmetry.groups import sg_symbol_from_int_number

    number = int(row.get("space_group_relaxed", 0)) or int(row.get("space_group", 0))
    return str(sg_symbol_from_int_number(number)) if number else ""


def _novelty(row: Row) -> str:
    if row.get("known_as"):
        return f"copy of {row['known_as']}"
    if row.get("listed_as"):
        return f"known: {row['listed_as']}"
    if not row["kind"]:
        return "not compared"
    if row["kind"] != row["id"]:
        return f"repeats {row['kind']}"
    return {True: "new", False: "known", None: "new" if "listed_as" in row else ""}[row.get("novel")]


def _fitted(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else f"{text[: width - 1]}…"
