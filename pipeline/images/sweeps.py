"""The table of an experiment's sweeps: Fréchet distances by NFE and by the scale of guidance."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.config import REFERENCES
from pipeline.report.formats import as_csv, markdown_table, write_numbers
from pipeline.report.summary import OF_PAPER
from pipeline.report.tables import OURS, PAPER
from pipeline.store.atomic import read_json, write_text
from pipeline.store.paper import rows_of_paper

DISTANCE = "frechet_distance"
SWEPT = ("NFE", "guidance")
# The conditions of a point; a line has all but the swept one.
SAID = ("network", "velocity", "NFE", "guidance", "step", "temperature", "top_k", "top_p")
PAPERS = {"tab:latent_imagenet": {"NFE": "tab:cond_path_nfe", "guidance": "tab:merged_cfg"}}
Row = dict[str, Any]
Line = tuple[tuple[str, Any], ...]  # the conditions that all points of a line share


def make_sweep_table(paper: str | None, *, scores: Sequence[Path], table: Path, markdown: Path, numbers: Path) -> None:
    """Write one row per point as CSV; as Markdown and numbers, one row per network and velocity for each sweep.

    The paper's distances have a column of their own: they are of other features or data.
    """
    points = points_of([read_json(path) for path in scores])
    rows, text = [], []
    compared: dict[str, Row] = {}
    for swept in SWEPT:
        lines = lines_of(points, swept)
        label = PAPERS.get(paper or "", {}).get(swept)
        theirs = papers_lines(rows_of_paper(label), swept) if label and lines else {}
        for origin, found, column in ((OURS, lines, DISTANCE), (PAPER, theirs, OF_PAPER + DISTANCE)):
            for line, values in found.items():
                said = dict(line) | {"swept": swept, "origin": origin}
                rows += [said | {swept: x, column: y} for x, y in values.items()]
        for name, values in named(lines).items():
            compared.setdefault(name, {}).update({f"{swept} {x:g}": y for x, y in values.items()})
        if lines:
            text.append(f"Fréchet distance by {swept}:\n\n{pivot(lines)}")
        if theirs:
            text.append(f"The paper's, by its own features and data:\n\n{pivot(theirs)}")
    write_text(table, as_csv(rows, ["swept", "origin", *SAID, DISTANCE, OF_PAPER + DISTANCE]))
    write_text(markdown, "\n".join(text) or "Nothing was swept.\n")
    write_numbers(numbers, compared)


def points_of(scores: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return network, velocity, NFE, guidance and distance of all runs that have a distance."""
    points = []
    for score in scores:
        conditions, metrics = score["conditions"], score["metrics"]
        if conditions["run"] in REFERENCES or DISTANCE not in metrics:
            continue
        velocity = "searched" if conditions.get("searched") else conditions.get("velocity")
        corrector = conditions.get("corrector", "none")
        if velocity not in (None, "searched") and corrector != "none":
            velocity = f"{velocity}, corrector {corrector}"
        point = {"network": conditions.get("weights", conditions["run"]), "velocity": velocity}
        point |= {key: conditions[key] for key in SAID[2:] if key in conditions}
        points.append({key: value for key, value in point.items() if value is not None} | {DISTANCE: metrics[DISTANCE]})
    return points


def lines_of(points: Sequence[Row], swept: str) -> dict[Line, dict[float, float]]:
    """Return the distances by swept value, for points that are equal otherwise, if there are several."""
    lines: dict[Line, dict[float, float]] = {}
    for point in points:
        if swept in point:
            line = tuple((key, point[key]) for key in SAID if key != swept and key in point)
            lines.setdefault(line, {})[point[swept]] = point[DISTANCE]
    return {line: dict(sorted(values.items())) for line, values in lines.items() if len(values) > 1}


def named(lines: Mapping[Line, dict[float, float]]) -> dict[str, dict[float, float]]:
    """Return lines by network, velocity and whatever else tells them apart."""
    described = [dict(line) for line in lines]
    telling = [key for key in SAID if key in SAID[:2] or len({said.get(key) for said in described}) > 1]
    names = [", ".join(str(said[key]) for key in telling if key in said) for said in described]
    return dict(zip(names, lines.values(), strict=True))


def papers_lines(rows: Sequence[Row], swept: str) -> dict[Line, dict[float, float]]:
    """Return the lines of one of the paper's tables."""
    return lines_of([{"network": row["run"]} | row for row in rows], swept)


def pivot(lines: Mapping[Line, dict[float, float]]) -> str:
    """Return a table with one column per swept value."""
    columns = sorted({x for values in lines.values() for x in values})
    rows = [dict(line) | {f"{x:g}": y for x, y in values.items()} for line, values in lines.items()]
    return markdown_table(rows, [], SAID, [f"{x:g}" for x in columns])
