"""What a metric is given: the samples of a run, the data, and the trained network if there is one."""

from dataclasses import dataclass

from pipeline.data.tokens import TokenData
from pipeline.models.saved import SavedModel
from pipeline.sampling.samples import SampleSet


@dataclass(frozen=True)
class Subject:
    """A run to be scored; a reference has samples but no network."""

    samples: SampleSet
    data: TokenData
    model: SavedModel | None
    seed: int
