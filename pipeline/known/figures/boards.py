"""Histograms of two-token samples: one row per run, one column per time, and the references beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from pydantic import Field
from torch import Tensor

from pipeline.config import REFERENCES, Strict
from pipeline.flow.vocabulary import NEVER_DATA
from pipeline.report.exhibit import Exhibit
from pipeline.tokens.token_data import TokenData

if TYPE_CHECKING:  # every command reads the options of figures, but few draw one
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STRIP = 1 / 8  # width of the strip for masked tokens, as a share of the board
INCHES = 1.7  # side of one board


class Options(Strict):
    """The size of the figure."""

    dpi: int = Field(150, ge=1, description="dots per inch")


def draw(exhibits: Sequence[Exhibit], data: TokenData, options: Options) -> Figure:
    """Return the figure; tokens that are still masked lie in a strip along the right and upper edges of a board."""
    from matplotlib.figure import Figure

    runs = [exhibit.samples for exhibit in exhibits if exhibit.run not in REFERENCES]
    references = [exhibit.samples for exhibit in exhibits if exhibit.run in REFERENCES]
    columns = max((len(run.times) for run in runs), default=0) or 1
    figure = Figure(figsize=(INCHES * (columns + 1.3), INCHES * len(runs) + 0.4), layout="constrained", dpi=options.dpi)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[columns, 1.2])[0]
    boards = left.subplots(len(runs), columns, squeeze=False)
    for row, run in zip(boards, runs, strict=True):
        frames, times = (run.frames, run.times) if run.times else (run.tokens[None], (1.0,))
        for axes, tokens, time in zip(row, frames, times, strict=False):
            _board(axes, tokens, data)
            axes.set_title(f"t = {time:g}", fontsize=8)
        for axes in row[len(times) :]:
            axes.set_axis_off()
        row[0].set_ylabel(run.conditions["run"], fontsize=9)
    beside = right.subplots(max(len(runs), len(references)), 1, squeeze=False)[:, 0]
    for axes, reference in zip(beside, references, strict=False):
        _board(axes, reference.tokens, data)
        axes.set_title(REFERENCES[reference.conditions["run"]], fontsize=8)
    for axes in beside[len(references) :]:
        axes.set_axis_off()
    return figure


def _board(axes: Axes, tokens: Tensor, data: TokenData) -> None:
    """Draw the histogram of pairs of tokens; white is twice the mean density of the test data's cells."""
    levels = int((data.vocabulary.kind_of.values != NEVER_DATA).sum())
    strip = max(1, round(levels * STRIP)) if bool((tokens >= levels).any()) else 0
    cells = torch.where(tokens < levels, tokens, levels)
    counts = torch.bincount(cells[:, 0] * (levels + 1) + cells[:, 1], minlength=(levels + 1) ** 2).double()
    density = counts.view(levels + 1, levels + 1) / len(tokens)
    widths = torch.ones(levels + 1, dtype=torch.int64)
    widths[-1] = strip
    density = density / (widths[:, None] * widths[None, :]).clamp(min=1)
    board = density.repeat_interleave(widths, 0).repeat_interleave(widths, 1)
    occupied = len(torch.unique(data.test.long(), dim=0))
    axes.imshow(board.T, origin="lower", cmap="magma", vmin=0, vmax=2 / occupied, interpolation="nearest")
    if strip:
        axes.axhline(levels - 0.5, color="white", linewidth=0.5)
        axes.axvline(levels - 0.5, color="white", linewidth=0.5)
    axes.set_xticks([])
    axes.set_yticks([])
