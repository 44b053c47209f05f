"""What a metric is given: the samples of a run, the data, the network, and what is known of crystals, if any."""

from dataclasses import dataclass

from pipeline.crystals.evidence import CrystalEvidence
from pipeline.data.tokens import TokenData
from pipeline.flow.errors import KinoflowError
from pipeline.models.saved import SavedModel
from pipeline.sampling.samples import SampleSet


@dataclass(frozen=True)
class Subject:
    """A run to be scored; a reference has samples but no network."""

    samples: SampleSet
    data: TokenData
    model: SavedModel | None
    seed: int
    crystals: CrystalEvidence | None = None

    @property
    def evidence(self) -> CrystalEvidence:
        """What is known of the crystals; an error if the samples are something else."""
        if self.crystals is None:
            name = self.data.origin.get("name")
            raise KinoflowError(f"data {name!r}: these are no crystals; remove the metrics crystal_* from `scoring`")
        return self.crystals
