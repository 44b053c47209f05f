from typing import Any

from pipeline.stages.declaration import ON_CRYSTALS, Plot, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Csv, HullPoints, Markdown, Numbers, Rows


def calibration(job: Job) -> dict[str, Any]:
    """Return what the calibration of an experiment depends on besides its structures, hull and seed."""
    return job.crystals.model_dump(mode="json", include={"calibration", "seconds", "energy_model", "judges"})


def plot(job: Job) -> Plot:
    """Return the errors, a bar a comparison."""
    title = f"{job.experiment}: mean absolute error in eV/atom"
    return Plot("mean_absolute_error", "compared", title, "bar_horizontal")


@stage(
    settings=lambda job: {"seed": job.config.seed, "crystals": calibration(job)},
    chosen=Job.energy_model_modules,
    needs=Job.energy_model_needs,
    plot=plot,
    **ON_CRYSTALS,
)
def calibrate(job: Job, *, rows: Rows, hull: HullPoints, csv: Csv, markdown: Markdown, numbers: Numbers) -> None:
    """Compare energy models and the hull with the data set's own energies.

    Reads structures and hull. Writes one row per comparison.
    """
    from pipeline.crystals.calibration import write_calibration
    from pipeline.crystals.energy_model import EnergyModel
    from pipeline.store.seeds import derive_seed

    seed = derive_seed(job.config.seed, job.experiment, "calibration")
    models = [EnergyModel.of(choice) for choice in (job.crystals.energy_model, *job.crystals.judges)]
    write_calibration(job.crystals, models, seed, rows=rows, hull=hull, csv=csv, markdown=markdown, numbers=numbers)
    job.record([csv, markdown, numbers], calibration(job), [rows, hull])
