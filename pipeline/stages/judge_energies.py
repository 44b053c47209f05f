from typing import Any

from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Input, NewTable, OutputFolder


def settings(job: Job) -> dict[str, Any]:
    """Return what the verdicts depend on besides the relaxed crystals."""
    return job.crystals.model_dump(mode="json", include={"judges", "seconds"})


@stage(
    settings=settings,
    chosen=lambda job: job.energy_model_modules()[1:],
    needs=lambda job: job.energy_model_needs()[1:],
    resources="crystals.resources",
    workers="crystals.workers",
    each=Job.rows,
    when=Job.has_judges,
)
def judge_energies(job: Job, *, relaxed: Input, journal: OutputFolder, output: NewTable) -> None:
    """Compute the energies of relaxed crystals by other models.

    Reads relaxed crystals, and does not relax them again. Writes a row per crystal and judge. Resumes where an earlier
    call stopped.

    Args:
        relaxed: table from `relax` or `gather-relaxed`
        journal: folder of finished rows, removed when all are finished
    """
    from pipeline.crystals.energy_model import EnergyModel
    from pipeline.crystals.judging import judge_table

    chosen = job.crystals
    judge_table(
        [EnergyModel.of(judge) for judge in chosen.judges],
        job.config.seed,
        relaxed=relaxed,
        journal=journal,
        output=output,
        workers=chosen.workers,
        seconds=chosen.seconds,
    )
