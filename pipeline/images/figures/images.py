"""Samples of images, one column per class, and their distance from data by the number of steps and by guidance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from pipeline.config import REFERENCES, Strict
from pipeline.errors import KinoflowError
from pipeline.images.grids import first_rows, grid_of
from pipeline.images.pictures import Pictures
from pipeline.images.sweeps import DISTANCE, SWEPT, Line, lines_of, named, points_of
from pipeline.report.exhibit import Exhibit, plain_numbers
from pipeline.tokens.token_data import TokenData

if TYPE_CHECKING:  # every command reads the options of figures, few draw one
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCORES = True  # it is given the scores of the samples
TOKENS = False  # but not the samples themselves: it shows their pictures
COLUMNS = 10  # pictures in a row
INCHES = 0.55  # side of one picture
CURVES = 3.2  # height of the panels below, inches
SMALL = 7  # points of labels
LETTER = 0.056  # width of a letter of a label in inches, at most on average


class Options(Strict):
    """The size of the figure."""

    dpi: int = Field(150, ge=1, description="dots per inch")
    rows: int = Field(2, ge=1, description="rows of pictures of each run and reference")


def draw(exhibits: Sequence[Exhibit], data: TokenData, options: Options) -> Figure:
    """Return the figure: pictures of the references and of runs with their own networks, and curves below."""
    from matplotlib.figure import Figure

    shown = [exhibit for exhibit in exhibits if "weights" not in exhibit.samples.conditions]
    scores = [{"conditions": exhibit.samples.conditions, "metrics": exhibit.scores or {}} for exhibit in exhibits]
    curves = {swept: lines for swept in SWEPT if (lines := lines_of(points_of(scores), swept))}
    side, columns = INCHES * options.rows, min(COLUMNS, data.classes or COLUMNS)
    names = LETTER * max(len(_name(exhibit)) for exhibit in shown) + 0.5
    width = max(INCHES * columns + names, 4.2 * len(curves))
    heights = [(side + 0.08) * len(shown), *([CURVES] if curves else [])]
    figure = Figure(figsize=(width, sum(heights)), layout="constrained", dpi=options.dpi)
    top, *below = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, exhibit in zip(top.subplots(len(shown), 1, squeeze=False)[:, 0], shown, strict=True):
        _draw_row(axes, exhibit, columns, options.rows)
    if below:
        references = {exhibit.run: exhibit.scores or {} for exhibit in exhibits if exhibit.run in REFERENCES}
        panels = below[0].subplots(1, len(curves), squeeze=False)[0]
        for axes, (swept, lines) in zip(panels, curves.items(), strict=True):
            _draw_curves(axes, swept, lines, references)
    return figure


def _draw_row(axes: Axes, exhibit: Exhibit, columns: int, rows: int) -> None:
    if exhibit.pictures is None:
        raise KinoflowError(f"{exhibit.run}: this figure shows pictures; give them with --pictures")
    pictures = Pictures.load(exhibit.pictures)
    numbers = first_rows(len(pictures.images), pictures.labels, columns, rows)
    axes.imshow(grid_of(pictures.images[numbers.flatten()], numbers.shape[1]), interpolation="nearest")
    axes.set(xticks=[], yticks=[], anchor="W")  # otherwise the layout misjudges the space for the name
    axes.spines[:].set_visible(False)
    axes.set_ylabel(_name(exhibit), fontsize=SMALL, rotation=0, ha="right", va="center")


def _name(exhibit: Exhibit) -> str:
    return REFERENCES.get(exhibit.run, exhibit.run)


def _draw_curves(
    axes: Axes, swept: str, lines: dict[Line, dict[float, float]], references: dict[str, dict[str, float]]
) -> None:
    for number, (name, values) in enumerate(named(lines).items()):
        size = 1 + 0.7 * (len(lines) - 1 - number)  # the first is the widest, so that none hides another
        axes.plot(list(values), list(values.values()), marker="o", markersize=size + 2, linewidth=size, label=name)
    for run, x in (("data", 0.99), ("images", 0.01)):  # at opposite ends: the lines are close together
        if DISTANCE in (scores := references.get(run, {})):
            axes.axhline(scores[DISTANCE], color="grey", linewidth=0.8, linestyle="--", zorder=0)
            style: dict[str, Any] = {"fontsize": 6, "color": "grey", "va": "bottom"}
            style["ha"] = "right" if x > 0.5 else "left"
            place = axes.get_yaxis_transform()  # x as a share of the axis, y by its values
            axes.text(x, scores[DISTANCE], REFERENCES[run], transform=place, **style)
    axes.set_yscale("log")
    plain_numbers(axes.yaxis)
    if swept == "NFE":
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("network evaluations" if swept == "NFE" else "scale of guidance", fontsize=8)
    axes.set_ylabel("Fréchet distance", fontsize=8)
    axes.tick_params(labelsize=SMALL, which="both")
    axes.legend(fontsize=6, frameon=False)
