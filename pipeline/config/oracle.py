"""The configuration of an oracle bench: samplers are measured with the exact posterior, and nothing is trained."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.base import Name, Resources, Strict
from pipeline.config.choices import GridChoice, NameAlone, PathChoice, SchemeChoice, StepChoice, VelocityChoice
from pipeline.config.runs import Corrector

CLAIMS = (
    "velocity",
    "few_steps",
    "corrector",
    "scheduler",
    "step",
    "grid",
    "redrawing",
    "second_order",
    "confidence",
    "control",
)
Steps = tuple[Annotated[int, Field(ge=1, le=10**6)], ...]


class OracleRows(Strict):
    """Rows of the bench: all combinations of what is listed."""

    paths: tuple[Name, ...] | None = Field(None, min_length=1, description="which paths; null: all")
    velocity: tuple[Annotated[VelocityChoice, NameAlone], ...] = Field(
        (VelocityChoice(name="kinetic_optimal"),), min_length=1, description="velocities"
    )
    step: tuple[Annotated[StepChoice, NameAlone], ...] = Field(
        (StepChoice(name="exact"),), min_length=1, description="kinds of steps"
    )
    scheme: tuple[Annotated[SchemeChoice, NameAlone], ...] = Field(
        (SchemeChoice(name="plain"),), min_length=1, description="schemes: how a step uses the posterior"
    )
    grid: tuple[Annotated[GridChoice, NameAlone], ...] = Field(
        (GridChoice(name="uniform"),), min_length=1, description="grids of times"
    )
    corrector: tuple[Corrector | None, ...] = Field((None,), min_length=1, description="correctors; null: none")
    steps: Steps = Field(min_length=1, description="numbers of evaluations (NFE): of steps, or twice that")


class Oracle(Strict):
    """Which samplers are measured, and how."""

    law: Literal["exact", "samples"] = Field(
        "exact", description="exact: the sampler's law itself, over all sequences that there are; samples: from it"
    )
    distributions: int = Field(
        8,
        ge=1,
        le=10_000,
        description="chains, with chain_seed 0, 1, 2 ...; intervals are over them. Other data have one",
    )
    count: int = Field(500, ge=2, le=10**9, description="samples for each distribution, if samples are drawn")
    few: int = Field(8, ge=1, description="up to so many steps count as few")
    many: int = Field(64, ge=1, description="from so many steps on they count as many")
    paths: dict[Name, PathChoice] = Field(min_length=1, description="the paths by name")
    rows: tuple[OracleRows, ...] = Field(min_length=1, description="the rows, a list of blocks")
    resources: Resources = Field(Resources(), description="what the bench asks of the machine")

    @model_validator(mode="after")
    def _rows_name_paths(self) -> "Oracle":
        for place, block in enumerate(self.rows):
            if unknown := [name for name in block.paths or () if name not in self.paths]:
                raise ValueError(f"rows.{place}.paths: no path {unknown[0]!r}; name some of {', '.join(self.paths)}")
        return self
