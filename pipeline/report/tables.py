"""An experiment's table: one row per run and reference, with the paper's rows, and its numbers."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.config import REFERENCES
from pipeline.errors import KinoflowError
from pipeline.report.formats import Row, as_csv, markdown_table, write_numbers
from pipeline.store.atomic import read_json, write_text
from pipeline.store.paper import rows_of_paper

OURS, PAPER = "ours", "paper"
ALIKE = ("tokens", "features")  # compare perplexities and Fréchet distances only if these conditions are equal


def make_table(
    names: Sequence[str], papers: str | None, *, scores: Sequence[Path], table: Path, markdown: Path, numbers: Path
) -> None:
    """Write the table of scores of runs and references, beside one of the paper's; those without are not run."""
    found, paper = _read(scores), rows_of_paper(papers) if papers else []
    conditions = list(dict.fromkeys(["run", *(key for given, _ in found.values() for key in given)]))
    metrics = list(dict.fromkeys(key for _, measured in found.values() for key in measured))
    ours: list[Row] = []
    for name in names:
        given, measured = found.get(name, ({"absent": True}, {}))
        ours.append(given | measured | {"run": REFERENCES.get(name, name)})
    if paper:
        conditions.insert(1, "origin")
        ours = [row | {"origin": OURS} for row in ours]
    theirs = [{key: value for key, value in row.items() if key != "ours"} | {"origin": PAPER} for row in paper]
    known = {*conditions, *metrics}
    metrics += dict.fromkeys(key for row in theirs for key in row if key not in known)
    write_text(table, as_csv([*ours, *theirs], [*conditions, *metrics]))
    write_text(markdown, markdown_table(ours, theirs, conditions, metrics) + differences(paper, found))
    write_numbers(numbers, {name: found[name][1] for name in names if name in found})


def differences(paper: Sequence[Row], found: dict[str, tuple[Row, Row]]) -> str:
    """Return a table of our numbers minus the paper's, for runs that have a row in the paper; empty if none has."""
    rows: list[Row] = []
    for row in paper:
        conditions, ours = found.get(row.get("ours", ""), ({}, {}))
        compared = {key: ours[key] - value for key, value in row.items() if key in ours}
        if compared and all(row.get(key) == conditions.get(key) for key in ALIKE):
            rows.append({"run": row["ours"]} | compared)
    keys = list(dict.fromkeys(key for row in rows for key in row if key != "run"))
    return f"\nOurs minus the paper's:\n\n{markdown_table(rows, [], ['run'], keys)}" if rows else ""


def _read(scores: Sequence[Path]) -> dict[str, tuple[Row, Row]]:
    """Return the conditions and metrics of the scored runs by name."""
    found: dict[str, tuple[Row, Row]] = {}
    for path in scores:
        score = read_json(path)
        if fault := _fault_of(score):
            raise KinoflowError(f"{path}: {fault}; give a file from `score`, or make it again")
        run = score["conditions"]["run"]
        if run in found:
            raise KinoflowError(f"{path}: another file has the scores of run {run!r} already; give one of them")
        found[run] = (score["conditions"], score["metrics"])
    return found


def _fault_of(score: Any) -> str:
    """Return what is wrong with the content of a file of scores, or ''."""
    if not isinstance(score, dict) or not all(isinstance(score.get(key), dict) for key in ("conditions", "metrics")):
        return "holds no scores, which are conditions and metrics"
    if not isinstance(score["conditions"].get("run"), str):
        return "its conditions name no run"
    for key, value in (score["conditions"] | score["metrics"]).items():
        if isinstance(value, dict | list) or (isinstance(value, float) and not math.isfinite(value)):
            return f"{key} is no finite number and no text"
    return ""
