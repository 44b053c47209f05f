"""What figures share: what they get for each run or reference, and how they label an axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.sampling.samples import SampleSet

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axis import Axis


@dataclass(frozen=True)
class Exhibit:
    """The samples of a run or reference, and what else the figure gets.

    `tables` describe the samples, or some of them, by the flags of `figure`. `scores` and `pictures` (a file) are set
    for figures that show them.
    """

    samples: SampleSet
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    scores: dict[str, float] | None = None
    pictures: Path | None = None

    @property
    def run(self) -> str:
        """The name of the run or reference."""
        return str(self.samples.conditions["run"])


def plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis with 1, 2, 5, 10, ..."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
