from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.stages.declaration import ON_CRYSTALS, stage
from pipeline.stages.job import Job, Need
from pipeline.stages.parameters import Output, Rows
from pipeline.store.code import constant_of


def needs(job: Job) -> Iterator[Need]:
    """Yield the computed entries of the user, or the published formation energies."""
    key, own = f"experiments.{job.experiment}.crystals.hull", job.crystals.hull
    published: Any = constant_of("pipeline.crystals.hull_sources", "FILES", ())
    yield Need(key, own=(Path(own),)) if own is not None else Need(key, tuple(published))


@stage(settings=lambda job: {"hull": job.crystals.hull}, needs=needs, **ON_CRYSTALS)
def hull(job: Job, *, rows: Rows, output: Output) -> None:
    """Build the convex hull of formation energies.

    Reads published formation energies, or computed entries, and the data set's own. Writes points.

    Args:
        output: hull to write (.parquet)
    """
    from pipeline.crystals.hull_sources import build_hull

    build_hull(job.crystals, job.config.seed, job.cache, rows=rows, output=output)
