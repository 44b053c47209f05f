"""Search for the velocity, step and corrector that suit a run best at its number of steps.

All combinations draw samples from the same noise; the reported samples use other noise. Each combination is judged by
the Fréchet distance to the training images.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

from pipeline.config import Corrector, Experiment, Run, Sampling, StepChoice, VelocityChoice
from pipeline.errors import KinoflowError

METRIC = "frechet_distance"


@dataclass(frozen=True)
class Candidate:
    """A velocity, a kind of step, and the weight of the corrector."""

    velocity: VelocityChoice
    step: StepChoice
    weight: float

    @property
    def corrector(self) -> Corrector | None:
        """The corrector of this weight; None for weight 0."""
        return Corrector(weight=self.weight) if self.weight else None

    def described(self) -> dict[str, Any]:
        """Return the settings of a sampling."""
        corrector = self.corrector.model_dump(mode="json") if self.corrector else None
        chosen = {key: getattr(self, key).model_dump(mode="json") for key in ("velocity", "step")}
        return chosen | {"corrector": corrector}


def candidates_of(block: Experiment, run: str) -> list[Candidate]:
    """Return all combinations of the experiment's search."""
    if block.search is None or METRIC not in block.scoring:
        raise KinoflowError(f"run {run!r}: its experiment has no `search`, or no metric {METRIC}; add it")
    search = block.search
    return [Candidate(*chosen) for chosen in product(search.velocity, search.step, search.corrector)]


def sampling_of(block: Experiment, chosen: Run, candidate: Candidate) -> Sampling:
    """Return the sampling of a run with one of the combinations."""
    assert block.search is not None, "there are candidates"
    update = {key: getattr(candidate, key) for key in ("velocity", "step", "corrector")}
    return chosen.sampling.model_copy(update=update | {"count": block.search.count, "frames": ()})
