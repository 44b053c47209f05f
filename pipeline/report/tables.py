"""An experiment's table: one row per run and reference, in full as CSV, and the figures that matter as Markdown."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.config import REFERENCES
from pipeline.errors import KinoflowError
from pipeline.report.columns import values_in
from pipeline.report.formats import Row, as_csv, write_numbers
from pipeline.report.summary import OF_PAPER, comparable, of_paper, summary_text
from pipeline.store.atomic import read_json, write_text
from pipeline.store.paper import rows_of_paper

OURS, PAPER = "ours", "paper"


def make_table(
    names: Sequence[str],
    papers: str | None,
    *,
    data: str = "",
    scores: Sequence[Path],
    table: Path,
    markdown: Path,
    numbers: Path,
) -> None:
    """Write the table of scores of runs and references that were trained on `data`; those without are not run.

    Figures of the paper have columns of their own, `paper_<metric>`. A row of ours has them only if the paper has the
    same run on the same data, with the same tokens or features.
    """
    found, paper = read_scores(scores), rows_of_paper(papers) if papers else []
    conditions = list(dict.fromkeys(["run", *(key for given, _ in found.values() for key in given)]))
    metrics = list(dict.fromkeys(key for _, measured in found.values() for key in measured))
    ours: list[Row] = []
    for name in names:
        given, measured = found.get(name, ({"absent": True}, {}))
        beside = comparable(paper, name, given, data) if name in found else {}
        ours.append(given | measured | {"run": REFERENCES.get(name, name)} | beside)
    theirs = [of_paper(row) | {"origin": PAPER} for row in paper]
    if paper:
        conditions[1:1] = [key for key in ("origin", "data") if key not in conditions]
    further = dict.fromkeys((key for row in theirs for key in row if key.startswith(OF_PAPER)), "")
    if paper:
        ours = [{"data": data} | further | row | {"origin": OURS} for row in ours]
    known = dict.fromkeys([*conditions, *(key for row in theirs for key in row if key not in further)])
    write_text(table, as_csv([*ours, *theirs], [*known, *metrics, *further]))
    nulls = [REFERENCES[name] for name in names if name in ("independent", "shuffled")]
    write_text(markdown, summary_text(ours, paper, values_in(metrics), conditions, nulls, table.name))
    write_numbers(numbers, {name: found[name][1] for name in names if name in found})


def read_scores(scores: Sequence[Path]) -> dict[str, tuple[Row, Row]]:
    """Return the conditions and metrics of the scored runs by name."""
    found: dict[str, tuple[Row, Row]] = {}
    for path in scores:
        conditions, metrics = read_score(path)
        run = conditions["run"]
        if run in found:
            raise KinoflowError(f"{path}: another file has the scores of run {run!r} already; give one of them")
        found[run] = (conditions, metrics)
    return found


def read_score(path: Path) -> tuple[Row, Row]:
    """Return the conditions and metrics in a file of scores."""
    score = read_json(path)
    if fault := _fault_of(score):
        raise KinoflowError(f"{path}: {fault}; give a file from `score`, or make it again")
    return score["conditions"], score["metrics"]


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
