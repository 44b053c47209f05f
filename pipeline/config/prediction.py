"""The block of structure prediction."""

from typing import Literal

from pydantic import Field

from pipeline.config.base import RunName, Strict
from pipeline.config.runs import Run, Sampling


class Prediction(Strict):
    """Structure prediction: runs get the compositions of test structures, and fill in cell and sites."""

    compositions: int = Field(100, ge=1, description="test structures, drawn at random, that are to be predicted")
    split: Literal["test", "validation"] = Field(
        "test", description="where they are drawn from; settings are to be chosen on validation structures"
    )
    samples: int = Field(
        20, ge=1, description="structures drawn for each composition; the first and the best of all of them count"
    )
    runs: tuple[RunName, ...] | None = Field(
        None, min_length=1, description="runs that predict, each with a path; null: all that have one"
    )
    temperature: float | None = Field(
        None, ge=1e-4, le=1e4, description="of the sampling; low ones find the likeliest structure; null: as of samples"
    )
    pick: Literal["first", "likeliest"] = Field(
        "first",
        description="which structure counts for k = 1: the first, or the one of all `samples` that the network finds "
        "likeliest, on mask paths",
    )
    seconds: float = Field(60, gt=0, description="most seconds for matching one structure with the real one")

    def sampling_of(self, run: Run) -> Sampling:
        """Return how a run draws structures for a composition."""
        return run.sampling.model_copy(update={"temperature": self.temperature} if self.temperature else {})
