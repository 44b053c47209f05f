"""Search for the velocity and corrector that suit a run best at its number of steps.

All combinations draw samples from the same noise; the reported samples use other noise. Each combination is judged by
the Fréchet distance to the training images.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

from pipeline.config import Corrector, Experiment, Run, Sampling, VelocityChoice
from pipeline.errors import KinoflowError

METRIC = "frechet_distance"


@dataclass(frozen=True)
class Candidate:
    """A velocity, and the weight of its corrector."""

    velocity: VelocityChoice
    weight: float

    @property
    def corrector(self) -> Corrector | None:
        """The corrector of this weight; None for weight 0."""
        return Corrector(weight=self.weight) if self.weight else None

    def described(self) -> dict[str, Any]:
        """Return the settings of a sampling."""
        corrector = self.corrector.model_dump(mode="json") if self.corrector else None
        return {"velocity": self.velocity.model_dump(mode="json"), "corrector": corrector}


def candidates_of(block: Experiment, run: str) -> list[Candidate]:
    """Return all combinations of the experiment's search."""
    if block.search is None or METRIC not in block.scoring:
        raise KinoflowError(f"run {run!r}: its experiment has no `search`, or no metric {METRIC}; add it")
    return [Candidate(velocity, weight) for velocity, weight in product(block.search.velocity, block.search.corrector)]


def sampling_of(block: Experiment, chosen: Run, candidate: Candidate) -> Sampling:
    """Return the sampling of a run with one of the combinations."""
    assert block.search is not None, "there are candidates"
    update = {"velocity": candidate.velocity, "corrector": candidate.corrector, "count": block.search.count}
    return chosen.sampling.model_copy(update=update | {"frames": ()})
