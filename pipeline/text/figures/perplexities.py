"""Generative perplexity against the perplexity bound, one panel per set, and against the entropy of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from pipeline.config import REFERENCES, Strict
from pipeline.errors import KinoflowError
from pipeline.report.exhibit import Exhibit, plain_numbers
from pipeline.tokens.token_data import TokenData

if TYPE_CHECKING:  # every command reads the options of figures, but few draw one
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SCORES = True  # it is given the scores of the samples
BOUND, ERROR, JUDGED, ENTROPY = "perplexity_", "_error", "generative_perplexity", "token_entropy"
INCHES = 3.4  # side of one panel
LEGEND = 1.4  # inches
SMALL = 7  # points of the labels


class Options(Strict):
    """The size of the figure."""

    dpi: int = Field(150, ge=1, description="dots per inch")


@dataclass(frozen=True)
class Point:
    """A run in a panel: its place, the run with its network, what is swept, and whether it is autoregressive."""

    x: float
    y: float
    network: str
    swept: str = ""
    autoregressive: bool = False


def draw(exhibits: Sequence[Exhibit], data: TokenData, options: Options) -> Figure:
    """Return the figure: one color per network, rings for swept runs, stars for autoregressive networks.

    The Pareto front is drawn for the runs with a path.
    """
    from matplotlib.figure import Figure

    runs = {exhibit.run: exhibit for exhibit in exhibits if exhibit.run not in REFERENCES}
    references = {exhibit.run: scores_of(exhibit) for exhibit in exhibits if exhibit.run in REFERENCES}
    columns = dict.fromkeys(key for exhibit in runs.values() for key in scores_of(exhibit))
    sets = [key for key in columns if key.startswith(BOUND) and not key.endswith(ERROR)]
    trained = [run for run, exhibit in runs.items() if "weights" not in exhibit.samples.conditions]
    figure = Figure(figsize=(INCHES * (len(sets) + 1) + LEGEND, INCHES), layout="constrained", dpi=options.dpi)
    *panels, last = figure.subplots(1, len(sets) + 1, squeeze=False, sharey=True)[0]
    fronts: list[list[Point]] = []
    for axes, key in zip(panels, sets, strict=True):
        _draw_points(axes, points := points_of(runs, key), trained)
        fronts.append(pareto_front([point for point in points if not point.autoregressive]))
        _draw_front(axes, fronts[-1])
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
        axes.set_xlabel(f"perplexity of {key.removeprefix(BOUND)} (bound)", fontsize=8)
    _draw_points(last, points_of(runs, ENTROPY), trained)
    last.set_xlabel("entropy of a sample's tokens, nats", fontsize=8)
    last.locator_params(axis="x", nbins=4)
    for scores in references.values():
        if {ENTROPY, JUDGED} <= scores.keys():
            last.plot(scores[ENTROPY], scores[JUDGED], marker="X", color="black", markersize=6, linestyle="")
    for axes in figure.axes:
        _draw_references(axes, references)
        axes.tick_params(labelsize=SMALL)
    last.set_yscale("log")
    plain_numbers(last.yaxis)
    figure.axes[0].set_ylabel("generative perplexity", fontsize=8)
    handles, labels = last.get_legend_handles_labels()
    signs = signs_of(points_of(runs, ENTROPY), bool(references), any(len(front) > 1 for front in fronts))
    handles, labels = [*handles, *signs.values()], [*labels, *signs]
    figure.legend(handles, labels, loc="outside right center", fontsize=SMALL, frameon=False)
    return figure


def signs_of(points: Sequence[Point], references: bool, front: bool) -> dict[str, Line2D]:
    """Return what the signs of the figure mean, of those that it has, for its legend."""
    from matplotlib.lines import Line2D

    def sign(marker: str, face: str = "grey", color: str = "grey") -> Line2D:
        return Line2D([], [], marker=marker, markerfacecolor=face, color=color, linestyle="", markersize=5)

    return {
        **({"autoregressive": sign("*")} if any(point.autoregressive for point in points) else {}),
        **({"the same, sampled otherwise": sign("o", "none")} if any(point.swept for point in points) else {}),
        **({"reference": sign("X", "black", color="black")} if references else {}),
        **({"Pareto front": Line2D([], [], color="black", linewidth=1.5)} if front else {}),
    }


def scores_of(exhibit: Exhibit) -> dict[str, float]:
    """Return the scores of a run or reference."""
    if exhibit.scores is None:
        raise KinoflowError(f"{exhibit.run}: this figure shows scores; give them with --scores")
    return exhibit.scores


def points_of(runs: dict[str, Exhibit], key: str) -> list[Point]:
    """Return the runs with a generative perplexity and a score `key`, their own or that of their network's run."""
    points = []
    for run, exhibit in runs.items():
        conditions, own = exhibit.samples.conditions, scores_of(exhibit)
        network = conditions.get("weights", run)
        x = own.get(key, scores_of(runs[network]).get(key) if network in runs else None)
        if x is not None and JUDGED in own:
            swept = run.removeprefix(f"{network}_").replace("_", " ") if network != run else ""
            points.append(Point(x, own[JUDGED], network, swept, conditions.get("path") == "autoregressive"))
    return points


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other point dominates, sorted by x; less is better."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.x, point.y)):
        if not front or point.y < front[-1].y:
            front.append(point)
    return front


def _draw_points(axes: Axes, points: Sequence[Point], trained: Sequence[str]) -> None:
    for point in points:
        color = f"C{trained.index(point.network) % 10}" if point.network in trained else "grey"
        size, marker = (60, "*") if point.autoregressive else (26, "o")
        face, label = ("none", None) if point.swept else (color, point.network)
        axes.scatter(point.x, point.y, s=size, marker=marker, facecolors=face, edgecolors=color, zorder=2, label=label)


def _draw_front(axes: Axes, front: Sequence[Point]) -> None:
    """Draw a line along the front, and the names of the runs on it in bold."""
    axes.plot([point.x for point in front], [point.y for point in front], color="black", linewidth=1.5, zorder=1)
    for point in front:
        name = f"{point.network}, {point.swept}" if point.swept else point.network
        text = axes.annotate(name, (point.x, point.y), xytext=(-5, -3), textcoords="offset points")
        text.set(fontsize=SMALL, weight="bold", ha="right", va="top")


def _draw_references(axes: Axes, references: dict[str, dict[str, float]]) -> None:
    for run, scores in references.items():
        if JUDGED in scores:
            axes.axhline(scores[JUDGED], color="grey", linewidth=0.8, linestyle="--", zorder=0)
            beside = axes.get_yaxis_transform()  # x as a share of the axis, y in its own units
            label = axes.text(0.99, scores[JUDGED], REFERENCES[run], transform=beside, fontsize=SMALL - 1, color="grey")
            label.set(ha="right", va="bottom")
