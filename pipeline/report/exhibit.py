"""What a figure is given of a run or reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.sampling.samples import SampleSet

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Exhibit:
    """The samples of a run or reference, and what the figure is given besides.

    `tables` say more of each sample, or of some of them, by the flags of `figure`. `scores` and `pictures` (a file) are
    there for figures that show them.
    """

    samples: SampleSet
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    scores: dict[str, float] | None = None
    pictures: Path | None = None

    @property
    def run(self) -> str:
        """The name of the run or reference."""
        return str(self.samples.conditions["run"])
