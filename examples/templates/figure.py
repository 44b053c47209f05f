"""A figure: how often each token occurs. Copy to pipeline/known/figures/counts.py, and change it.

In the configuration: `figure: {name: counts}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from pipeline.config import Strict
from pipeline.report.exhibit import Exhibit
from pipeline.tokens.token_data import TokenData

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Options(Strict):
    """The size of the figure."""

    dpi: int = Field(150, ge=1, description="dots per inch")


def draw(exhibits: Sequence[Exhibit], data: TokenData, options: Options) -> Figure:
    """Return the figure: one panel for each run and reference."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 * len(exhibits), 2.5), layout="constrained", dpi=options.dpi)
    for axes, exhibit in zip(figure.subplots(1, len(exhibits), squeeze=False)[0], exhibits, strict=True):
        counts = exhibit.samples.tokens.flatten().bincount(minlength=data.vocabulary.size)
        axes.bar(range(len(counts)), counts.tolist())
        axes.set(title=exhibit.run, xlabel="token")
    return figure
