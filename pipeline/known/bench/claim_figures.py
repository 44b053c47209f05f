"""A figure for each claim: errors by the number of steps, one panel a path, one line for each thing compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.known.bench.claims import Claim, Measured
from pipeline.known.bench.errors import PAIRS, interval
from pipeline.known.bench.rows import NONE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 120
COLUMNS, INCHES = 4, 2.7
USUAL = {"velocity": "kinetic_optimal", "step": "exact", "scheme": "plain", "grid": "uniform", "corrector": NONE}


def draw(claim: Claim, measured: Sequence[Measured]) -> Figure:
    """Return the figure of a claim; a line of text instead if nothing was measured that it compares."""
    from matplotlib.figure import Figure

    panels = _panels(claim, measured)
    across, down = min(COLUMNS, len(panels)) or 1, -(-len(panels) // COLUMNS) or 1
    figure = Figure(figsize=(max(across, 2) * INCHES, down * INCHES + 0.5), layout="constrained", dpi=DPI)
    figure.suptitle(
        f"Claim: {claim.says}" if panels else f"Nothing was measured for: {claim.says}", fontsize=8, wrap=True
    )
    if not panels:
        return figure
    axes = figure.subplots(down, across, squeeze=False).flatten()
    for panel, (title, lines) in zip(axes, panels.items(), strict=False):
        _draw_panel(panel, title, lines)
    for panel in axes[len(panels) :]:
        panel.set_axis_off()
    return figure


Lines = dict[str, list[tuple[int, Sequence[float]]]]  # for each label, steps and errors


def _panels(claim: Claim, measured: Sequence[Measured]) -> dict[str, Lines]:
    """Return the lines of each panel with at least two of them; what a claim does not compare is as usual."""
    values = {value for pair in claim.pairs for value in pair}
    found: dict[str, Lines] = {}
    for one in measured:
        row = one["conditions"]
        if "NFE" not in row or row[claim.column] not in values or PAIRS not in one["errors"]:
            continue
        if any(row[key] != value for key, value in USUAL.items() if key != claim.column):
            continue
        title = row["path"] if claim.column == "scheduler" else f"{row['path']} {row['scheduler']}".strip()
        label = f"{row['corrector']} {row['weight']}".strip() if claim.column == "corrector" else row[claim.column]
        found.setdefault(title, {}).setdefault(label, []).append((row["NFE"], one["errors"][PAIRS]))
    return {title: lines for title, lines in found.items() if len(lines) > 1}


def _draw_panel(panel: Axes, title: str, lines: Lines) -> None:
    for label, points in sorted(lines.items()):
        steps, errors = zip(*sorted(points, key=lambda point: point[0]), strict=True)
        bands = [interval(values) for values in errors]
        means, lows, highs = ([band[place % len(band)] for band in bands] for place in range(3))
        (line,) = panel.plot(steps, means, marker="o", markersize=2.5, linewidth=1, label=label)
        panel.fill_between(
            steps, [max(low, 1e-6) for low in lows], highs, color=line.get_color(), alpha=0.2, linewidth=0
        )
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_title(title, fontsize=8)
    panel.set_xlabel("NFE", fontsize=7)
    panel.set_ylabel("total variation of pairs", fontsize=7)
    panel.tick_params(which="both", labelsize=6)
    panel.legend(fontsize=5.5)
