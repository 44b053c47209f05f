"""Energies above the hull, one strip of dots per run: few dots look like dots, many like a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.crystals.crystal import Floats
from pipeline.crystals.energies import METASTABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FARTHEST = (-1.0, 10.0)  # eV/atom; energies farther out are only counted
SHOWN = (-0.1, 0.5)  # the axis has at least this range
TICKS = (-1, -0.3, -0.1, 0, 0.1, 0.3, 1, 3, 10)
LINE, HALF_HEIGHT = 0.68, 0.25  # where the dots of a strip lie, as shares of its height; above them is its label
DIAMETERS = (1.5, 6.0)  # points; if there are very many dots, and if there are few
RUN, REFERENCE, MEDIAN, BELOW, NEAR = "#2166ac", "#666666", "#b2182b", "#1a9850", "#fdae61"


class Strip(NamedTuple):
    """The known energies of the relaxed crystals of a run or a reference, in eV/atom."""

    label: str
    energies: Floats
    converged: NDArray[np.bool_]
    attempted: int
    reference: bool


def draw_strips(axes: Axes, strips: Sequence[Strip], width: float, height: float) -> None:
    """Draw a strip for each run, the first at the top, in axes of about `width` by `height` inches."""
    low, high = _limits(strips)
    axes.set_xscale("asinh", linear_width=METASTABLE)  # logarithmic beyond that
    axes.set(xlim=(low, high), ylim=(len(strips), 0))
    axes.axvspan(low, 0, color=BELOW, alpha=0.13, linewidth=0)
    axes.axvspan(0, METASTABLE, color=NEAR, alpha=0.2, linewidth=0)
    for limit in (0, METASTABLE):
        axes.axvline(limit, color="0.45", linewidth=0.7)
    axes.hlines(range(1, len(strips)), 0, 1, color="0.85", linewidth=0.7, transform=axes.get_yaxis_transform())
    for position, strip in enumerate(strips):
        _draw_dots(axes, strip, position + LINE, 72 * width, 72 * height / len(strips))
        _write_label(axes, strip, position)
    axes.set_xticks([tick for tick in TICKS if low <= tick <= high], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))
    axes.set_yticks([])
    axes.tick_params(labelsize=8)
    axes.set_xlabel("energy above the hull, eV/atom (linear up to about 0.1, logarithmic beyond)", fontsize=8)
    _explain(axes, height)


def swarm(places: Floats, width: float, spacing: float, half_height: float) -> Floats:
    """Return how far to move each dot off its line, so that dots in the same column of a `width` do not overlap.

    They are stacked around the line, `spacing` apart, or less if the highest stack would go beyond `half_height`.
    """
    order = np.argsort(places, kind="stable")
    columns = np.floor(places[order] / width)
    starts = np.flatnonzero(np.diff(columns, prepend=-np.inf))
    counts = np.diff(starts, append=len(places))
    ranks = np.arange(len(places)) - np.repeat(starts, counts)
    steps = (ranks + 1) // 2 * np.where(ranks % 2, -1.0, 1.0) + np.repeat((counts % 2 == 0) / 2, counts)
    moves = np.empty(len(places))
    moves[order] = steps * min(spacing, 2 * half_height / max(1, counts.max(initial=1) - 1))
    return moves


def _limits(strips: Sequence[Strip]) -> tuple[float, float]:
    """Return the ends of the axis, with room for the number of energies that are farther out."""
    values = np.concatenate([np.array(SHOWN), *(strip.energies for strip in strips)])
    low, high = max(values.min(), FARTHEST[0]), min(values.max(), FARTHEST[1])
    return (float(low * (2.0 if values.min() < low else 1.25)), float(high * (2.0 if values.max() > high else 1.25)))


def _draw_dots(axes: Axes, strip: Strip, line: float, width: float, height: float) -> None:
    """Draw the dots and the median of a strip of `width` by `height` points, and say how many are beyond the axis."""
    energies, colour = strip.energies, colour_of(strip.reference)
    below, beyond = energies < FARTHEST[0], energies > FARTHEST[1]
    inside = ~(below | beyond)
    shown, converged = energies[inside], strip.converged[inside]
    diameter = float(np.clip(75 / np.sqrt(len(shown) + 1), *DIAMETERS))
    first, last = np.arcsinh(np.array(axes.get_xlim()) / METASTABLE)
    column = 1.1 * diameter * (last - first) / width
    across = line + swarm(np.arcsinh(shown / METASTABLE), column, 1.1 * diameter / height, HALF_HEIGHT)
    style: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": diameter, "color": colour, "zorder": 3}
    ring: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": min(0.9, diameter / 4)}
    axes.plot(shown[~converged], across[~converged], **ring, **style)
    axes.plot(shown[converged], across[converged], alpha=0.8, markeredgewidth=0, **style)
    if len(energies) and FARTHEST[0] <= np.median(energies) <= FARTHEST[1]:
        ends = [line - HALF_HEIGHT - 0.03, line + HALF_HEIGHT + 0.03]
        axes.plot([np.median(energies)] * 2, ends, color=MEDIAN, linewidth=1.3, zorder=4)
    if below.any():
        _write(axes, f"◂ {below.sum():,}", (0, line), (3, 0), fontsize=7, ha="left", va="center")
    if beyond.any():
        _write(axes, f"{beyond.sum():,} ▸", (1, line), (-3, 0), fontsize=7, ha="right", va="center")


def _write_label(axes: Axes, strip: Strip, top: float) -> None:
    words = [f"{strip.attempted:,} relaxed"] if strip.attempted else ["none relaxed"]
    words += [f"{strip.attempted - len(strip.energies):,} without a value"] if strip.attempted else []
    words += [f"median {signed(float(np.median(strip.energies)))}"] if len(strip.energies) else []
    _write(axes, strip.label, (0, top), (4, -3), fontsize=8, weight="bold", va="top", color=colour_of(strip.reference))
    _write(axes, ", ".join(words), (0, top), (4, -14), fontsize=7, va="top", color="0.25")


def _write(axes: Axes, text: str, place: tuple[float, float], offset: tuple[float, float], **style: Any) -> None:
    """Write a text at a share of the width and a height in strips; its rim keeps it legible on lines and dots."""
    from matplotlib.patheffects import withStroke

    style |= {"zorder": 5, "path_effects": [withStroke(linewidth=2.5, foreground="white")]}
    axes.annotate(text, place, offset, xycoords=axes.get_yaxis_transform(), textcoords="offset points", **style)


def colour_of(reference: bool) -> str:
    """Return the colour of a run or of a reference."""
    return REFERENCE if reference else RUN


def signed(energy: float) -> str:
    """Return an energy with its sign."""
    return f"{energy:+.3f}".replace("-", "−")


def _explain(axes: Axes, height: float) -> None:
    """Put the legend below the label of axes that are `height` inches high."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    dot: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5, "color": RUN}
    entries = {
        "a relaxed crystal": Line2D([], [], markeredgewidth=0, **dot),
        "its relaxation did not converge": Line2D([], [], markerfacecolor="white", markeredgewidth=0.9, **dot),
        "median": Line2D([], [], color=MEDIAN, linewidth=1.3),
        "below the hull": Patch(color=BELOW, alpha=0.13),
        "at most 0.1 eV/atom above it": Patch(color=NEAR, alpha=0.2),
    }
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.42 / height), "borderaxespad": 0.0}
    axes.legend(entries.values(), entries, ncols=3, fontsize=7, frameon=False, columnspacing=1.5, **place)
