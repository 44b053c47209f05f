"""CHGNet and the hull against known energies."""

from typing import Any

from pipeline.stages.chosen import of_crystals
from pipeline.stages.declaration import Input, Output, stage
from pipeline.stages.job import Job


def settings(job: Job) -> dict[str, Any]:
    """Return what the calibration of an experiment depends on besides its structures and hull."""
    return {
        "seed": job.config.seed,
        "crystals": job.crystals.model_dump(mode="json", include={"calibration", "seconds"}),
    }


@stage(settings=settings, resources="crystals.resources", workers="crystals.workers", when=of_crystals)
def calibrate(job: Job, *, rows: Input, hull: Input, csv: Output, markdown: Output, numbers: Output) -> None:
    """Compare CHGNet and the hull with the data set's own energies.

    Reads structures and hull. Writes a row a comparison.

    Args:
        rows: the data set's structures from `prepare`
        hull: hull from `hull`
        csv: table to write, with all digits
        markdown: table to write, rounded
        numbers: numbers of our rows to write, to compare versions by (.json)
    """
    from pipeline.crystals.calibration import write_calibration
    from pipeline.store.provenance import write_provenance
    from pipeline.store.seeds import derive_seed

    seed = derive_seed(job.config.seed, job.experiment, "calibration")
    write_calibration(job.crystals, seed, rows=rows, hull=hull, csv=csv, markdown=markdown, numbers=numbers)
    write_provenance([csv, markdown, numbers], settings(job)["crystals"], job.config.seed, [rows, hull])
