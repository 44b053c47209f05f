"""Generative perplexity against the perplexity bound, a panel a set, and against the entropy of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from pipeline.config import REFERENCES, Strict
from pipeline.data.tokens import TokenData
from pipeline.flow.errors import KinoflowError
from pipeline.report.exhibit import Exhibit

if TYPE_CHECKING:  # every command reads the options of figures, few draw one
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCORES = True  # it is given the scores of the samples
BOUND, ERROR, JUDGED, ENTROPY = "perplexity_", "_error", "generative_perplexity", "token_entropy"
INCHES = 3.4  # side of one panel
SMALL = 7  # points of the labels


class Options(Strict):
    """The size of the figure."""

    dpi: int = Field(150, ge=1, description="dots per inch")


@dataclass(frozen=True)
class Point:
    """A run in a panel: its place, its label, and the number that its color goes by."""

    x: float
    y: float
    label: str
    color: int
    swept: bool


def draw(exhibits: Sequence[Exhibit], data: TokenData, options: Options) -> Figure:
    """Return the figure: runs as dots, those on the Pareto front in bold, further numbers of steps as rings."""
    from matplotlib.figure import Figure

    runs = {exhibit.run: exhibit for exhibit in exhibits if exhibit.run not in REFERENCES}
    references = {exhibit.run: scores_of(exhibit) for exhibit in exhibits if exhibit.run in REFERENCES}
    sets = list(dict.fromkeys(key for exhibit in runs.values() for key in bounds_of(exhibit)))
    figure = Figure(figsize=(INCHES * (len(sets) + 1), INCHES), layout="constrained", dpi=options.dpi)
    *panels, last = figure.subplots(1, len(sets) + 1, squeeze=False)[0]
    for axes, key in zip(panels, sets, strict=True):
        _panel(axes, points_of(runs, key), references, front=True)
        axes.set_xscale("log")
        axes.set_xlabel(f"perplexity of {key.removeprefix(BOUND)} (bound)", fontsize=8)
    _panel(last, points_of(runs, ENTROPY), references, front=False)
    last.set_xlabel("entropy of a sample's tokens, nats", fontsize=8)
    for run, scores in references.items():
        if {ENTROPY, JUDGED} <= scores.keys():
            last.plot(scores[ENTROPY], scores[JUDGED], marker="*", color="black", markersize=9)
            last.annotate(REFERENCES[run], (scores[ENTROPY], scores[JUDGED]), fontsize=SMALL)
    return figure


def scores_of(exhibit: Exhibit) -> dict[str, float]:
    """Return the scores of a run or reference."""
    if exhibit.scores is None:
        raise KinoflowError(f"{exhibit.run}: this figure shows scores; give them with --scores")
    return exhibit.scores


def bounds_of(exhibit: Exhibit) -> list[str]:
    """Return the columns of perplexities that a run has, one a set."""
    return [key for key in scores_of(exhibit) if key.startswith(BOUND) and not key.endswith(ERROR)]


def points_of(runs: dict[str, Exhibit], key: str) -> list[Point]:
    """Return the runs that have both a value `key`, their own or that of their network, and a generative perplexity."""
    trained = [run for run, exhibit in runs.items() if "weights" not in exhibit.samples.conditions]
    points = []
    for run, exhibit in runs.items():
        network = exhibit.samples.conditions.get("weights", run)
        own = scores_of(exhibit)
        x = own.get(key, scores_of(runs[network]).get(key) if network in runs else None)
        if x is not None and JUDGED in own:
            swept = network != run
            label = run.removeprefix(f"{network}_").replace("_", " ") if swept else run
            points.append(Point(x, own[JUDGED], label, trained.index(network) if network in trained else -1, swept))
    return points


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other beats in one coordinate without losing in the other, by x; less is better."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.x, point.y)):
        if not front or point.y < front[-1].y:
            front.append(point)
    return front


def _panel(axes: Axes, points: Sequence[Point], references: dict[str, dict[str, float]], *, front: bool) -> None:
    best = pareto_front(points) if front else []
    axes.plot([point.x for point in best], [point.y for point in best], color="black", linewidth=1.5, zorder=1)
    for point in points:
        color = f"C{point.color % 10}"
        axes.scatter(
            point.x,
            point.y,
            s=22 if point.swept else 34,
            facecolors="none" if point.swept else color,
            edgecolors=color,
            zorder=2,
        )
        axes.annotate(
            point.label,
            (point.x, point.y),
            fontsize=SMALL,
            weight="bold" if point in best else "normal",
            color=color,
            xytext=(4, 3),
            textcoords="offset points",
        )
    if front:
        for run, scores in references.items():
            if JUDGED in scores:
                axes.axhline(scores[JUDGED], color="grey", linewidth=0.8, linestyle="--", zorder=0)
                beside = axes.get_yaxis_transform()  # x as a share of the axis, y by its values
                axes.text(0.01, scores[JUDGED], REFERENCES[run], transform=beside, fontsize=SMALL - 1, color="grey")
    axes.set_yscale("log")
    axes.set_ylabel("generative perplexity", fontsize=8)
    axes.tick_params(labelsize=SMALL)
