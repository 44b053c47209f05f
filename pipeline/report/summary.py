"""The short table of an experiment, to read: the figures that matter, what they mean, and what to be wary of."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.report.columns import HIGH, LOW, column_of, error_of, headlines
from pipeline.report.formats import NOT_RUN, WIDTH, Row, pipe_table, rounded, shared_by, wrapped

MOST = 4  # columns with figures
ALIKE = ("data", "tokens", "features")  # compare with the paper only if these conditions are equal
OF_PAPER = "paper_"
NORMAL = 1.96  # standard errors to either side that hold 95 %
CONDITIONS_OF_PAPER = ("run", "NFE", "guidance", *ALIKE)


def comparable(paper: Sequence[Row], name: str, conditions: Row, data: str) -> Row:
    """Return the paper's figures for a run of ours, as `paper_<metric>`; none if they cannot be compared."""
    said = {"data": data} | conditions
    for row in paper:
        if row.get("ours") == name and all(row[key] == said.get(key) for key in ALIKE if key in row):
            return {key: value for key, value in of_paper(row).items() if key.startswith(OF_PAPER)}
    return {}


def of_paper(row: Row) -> Row:
    """Return a row of the paper with its figures as `paper_<metric>`: they share no column with ours."""
    kept = {key: value for key, value in row.items() if key != "ours"}
    return {key if key in CONDITIONS_OF_PAPER else OF_PAPER + key: value for key, value in kept.items()}


def summary_text(
    ours: Sequence[Row],
    paper: Sequence[Row],
    metrics: Sequence[str],
    conditions: Sequence[str],
    nulls: Sequence[str],
    full: str,
) -> str:
    """Return Markdown whose lines have less than 100 characters.

    `nulls` are the labels of the rows without a network that a run should beat, `full` is the name of the full table.
    """
    compared = [name for name in metrics if any(row.get(OF_PAPER + name, "") != "" for row in ours)]
    wanted = dict.fromkeys([*compared, *headlines(metrics)])
    shown = _fitting(ours, [name for name in wanted if any(name in row for row in ours)])
    parts = [_table(ours, shown), _meanings(ours, shown)]
    if shared := shared_by(ours, [key for key in conditions if key not in ("run", "origin", "warning")]):
        said = "; ".join(f"{key.replace('_', ' ')}: {rounded(value)}" for key, value in shared.items())
        parts.append(wrapped(f"The same in all rows that have it: {said}."))
    parts += [wrapped(f"- {remark}", "  ") for remark in remarks(ours, metrics, nulls)]
    if paper:
        parts.append(_papers_table(ours, paper, shown))
    parts.append(f"All columns: {full}\n")
    return "\n".join(part for part in parts if part)


def remarks(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str], nulls: Sequence[str]) -> list[str]:
    """Return the warnings of runs, and a sentence for each headline in which a null model is ahead of a run."""
    found = [f"{row['run']}: {row['warning']}." for row in rows if row.get("warning")]
    for name in headlines(metrics):
        column = column_of(name)
        for null in (row for row in rows if row["run"] in nulls and name in row):
            behind = [row for row in rows if row.get("path") and name in row and column.beats(null[name], row[name])]
            subject = f"{column.label}: {null['run']} ({rounded(null[name])})"
            for apart, verb, end in ((True, "beats", "."), (False, "is ahead of", ", but within the errors.")):
                beaten = [row for row in behind if _are_apart(null, row, name) is apart]
                if beaten:
                    named = ", ".join(f"{row['run']} ({rounded(row[name])})" for row in beaten)
                    found.append(f"{subject} {verb} {named}{end}")
    return found


def _are_apart(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    """Return whether the 95 % intervals of a figure do not overlap; a figure without an interval counts as exact."""
    (low, high), (other_low, other_high) = (_interval(row, name) for row in (one, other))
    return low > other_high or other_low > high


def _interval(row: Mapping[str, Any], name: str) -> tuple[float, float]:
    low, high = row.get(name + LOW), row.get(name + HIGH)
    if low is None or high is None:
        reach = NORMAL * (row.get(error_of(name, row.keys())) or 0.0)
        return row[name] - reach, row[name] + reach
    return low, high


def cell(row: Mapping[str, Any], name: str) -> str:
    """Return a figure with its 95 % interval or standard error, in three significant digits.

    >>> cell({"rate": 41.238, "rate_low": 30.1, "rate_high": 55.4}, "rate")
    '41.2 [30.1, 55.4]'
    """
    if name not in row:
        return NOT_RUN if row.get("absent") else ""
    low, high, error = row.get(name + LOW), row.get(name + HIGH), row.get(error_of(name, row.keys()))
    if low is not None and high is not None:
        return f"{rounded(row[name], 3)} [{rounded(low, 3)}, {rounded(high, 3)}]"
    return rounded(row[name], 4) + (f" ± {error:.2g}" if error else "")


def _table(ours: Sequence[Row], shown: Sequence[str]) -> str:
    """Return the table; a column of the paper's figures follows each of ours that can be compared with it."""
    columns = [(name, OF_PAPER + name) for name in shown]
    headings, lines = ["run"], [[str(row["run"])] for row in ours]
    for name, theirs in columns:
        headings.append(column_of(name).heading)
        for line, row in zip(lines, ours, strict=True):
            line.append(cell(row, name))
        if any(row.get(theirs, "") != "" for row in ours):
            headings.append("paper")
            for line, row in zip(lines, ours, strict=True):
                line.append(rounded(row.get(theirs, "")))
    return pipe_table(headings, lines)


def _fitting(ours: Sequence[Row], wanted: Sequence[str]) -> list[str]:
    """Return the first columns that fit into a line, at most four."""
    shown: list[str] = []
    for name in wanted:
        if len(shown) < MOST and _table(ours, [*shown, name]).index("\n") <= WIDTH:
            shown.append(name)
    return shown


def _meanings(ours: Sequence[Row], shown: Sequence[str]) -> str:
    lines = []
    for name in shown:
        column = column_of(name)
        better = f" ({column.better} is better)" if column.better else ""
        lines.append(wrapped(f"- {column.heading}: {column.meaning}{better}", "  "))
    if any(name + LOW in row for name in shown for row in ours):
        lines.append("- [low, high]: interval that has the true value in 95 % of all cases\n")
    if any(row.get(error_of(name, row.keys())) for name in shown for row in ours):
        lines.append("- ±: standard error\n")
    return "".join(lines)


def _papers_table(ours: Sequence[Row], paper: Sequence[Row], shown: Sequence[str]) -> str:
    """Return the paper's figures, and whether any can be compared with ours."""
    figures = dict.fromkeys(key for row in paper for key in row if key not in (*CONDITIONS_OF_PAPER, "ours"))
    wanted = [name for name in (*shown, *headlines(figures), *figures) if name in figures]
    chosen, lines = list[str](), list[list[str]]()
    for name in dict.fromkeys(wanted):
        tried = [*chosen, name]
        rows = [[str(row["run"]), *(rounded(row[key], 4) if key in row else "" for key in tried)] for row in paper]
        text = pipe_table(["run of the paper", *(column_of(key).heading for key in tried)], rows)
        if len(tried) <= MOST and text.index("\n") <= WIDTH:
            chosen, lines = tried, rows
    said = {key: dict.fromkeys(row[key] for row in paper if key in row) for key in ALIKE}
    what = "; ".join(f"{key}: {', '.join(map(str, values))}" for key, values in said.items() if values)
    mine = any(key.startswith(OF_PAPER) and value != "" for row in ours for key, value in row.items())
    alike = "that takes the same data, tokens and features"
    note = f"The paper's own figures ({what}). None of them can be compared with ours: {alike}."
    if mine:
        note = f"The paper's own figures ({what}). Compare those in the column `paper` above, and no others: {alike}."
    return f"{wrapped(note)}\n{pipe_table(['run of the paper', *(column_of(key).heading for key in chosen)], lines)}"
