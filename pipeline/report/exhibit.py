"""What a figure is given of a run or reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.sampling.samples import SampleSet

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.images.pictures import Pictures


@dataclass(frozen=True)
class Exhibit:
    """The samples of a run or reference; of crystals also what is known of each: a row a sample, or a relaxed one.

    For figures that show them, also the scores; of images also their pictures.
    """

    samples: SampleSet
    structures: pd.DataFrame | None = None
    relaxed: pd.DataFrame | None = None
    scores: dict[str, float] | None = None
    pictures: Pictures | None = None

    @property
    def run(self) -> str:
        """The name of the run or reference."""
        return str(self.samples.conditions["run"])
