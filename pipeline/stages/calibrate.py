"""CHGNet and the hull against known energies."""

from typing import Any

from pipeline.stages.chosen import of_crystals
from pipeline.stages.declaration import Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, Input, Markdown, Numbers, Rows


def settings(job: Job) -> dict[str, Any]:
    """Return what the calibration of an experiment depends on besides its structures and hull."""
    return {
        "seed": job.config.seed,
        "crystals": job.crystals.model_dump(mode="json", include={"calibration", "seconds"}),
    }


def plot(job: Job) -> Plot:
    """Return the errors, a bar a comparison."""
    title = f"{job.experiment}: mean absolute error in eV/atom"
    return Plot("mean_absolute_error", "compared", title, "bar_horizontal")


@stage(settings=settings, resources="crystals.resources", workers="crystals.workers", when=of_crystals, plot=plot)
def calibrate(job: Job, *, rows: Rows, hull: Input, csv: Csv, markdown: Markdown, numbers: Numbers) -> None:
    """Compare CHGNet and the hull with the data set's own energies.

    Reads structures and hull. Writes one row per comparison.

    Args:
        hull: hull from `hull`
    """
    from pipeline.crystals.calibration import write_calibration
    from pipeline.store.provenance import write_provenance
    from pipeline.store.seeds import derive_seed

    seed = derive_seed(job.config.seed, job.experiment, "calibration")
    write_calibration(job.crystals, seed, rows=rows, hull=hull, csv=csv, markdown=markdown, numbers=numbers)
    write_provenance([csv, markdown, numbers], settings(job)["crystals"], job.config.seed, [rows, hull])
