from typing import Any

from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Gpus, Input, NewTable, OptionalOutput, OutputFolder, Shard, Shards


def settings(job: Job) -> dict[str, Any]:
    """Return what relaxed crystals depend on besides the crystals."""
    chosen = job.crystals.relaxation.model_dump(mode="json", exclude={"workers", "shards", "resources"})
    return chosen | {"energy_model": job.crystals.energy_model.model_dump(mode="json")}


@stage(
    settings=settings,
    chosen=lambda job: job.energy_models()[0].modules,
    needs=lambda job: job.energy_model_needs()[:1],
    resources="crystals.relaxation.resources",
    workers="crystals.relaxation.workers",
    each=Job.rows,
    when=Job.of_crystals,
    count=lambda job: job.crystals.relaxation.shards,
    one_gpu=True,
)
def relax(
    job: Job,
    *,
    crystals: Input,
    journal: OutputFolder,
    output: NewTable,
    trajectories: OptionalOutput = None,
    shard: Shard = 0,
    shards: Shards = 1,
    gpus: Gpus = 0,
) -> None:
    """Relax a shard of crystals with the energy model.

    Reads a table of crystals. Writes energies and relaxed crystals. Resumes where an earlier call stopped.

    Args:
        crystals: table from `decode`
        journal: folder of finished rows, removed when the shard is finished
        trajectories: table to write with a few steps of each relaxation (.parquet)
    """
    from pipeline.crystals.energy_model import EnergyModel
    from pipeline.crystals.relaxation import relax_table

    if gpus:
        from pipeline.networks.devices import check_gpus  # imports torch, which only the workers need otherwise

        check_gpus(gpus, "crystals.relaxation.resources.gpus")
    relax_table(
        job.crystals.relaxation,
        job.config.seed,
        model=EnergyModel.of(job.crystals.energy_model),
        crystals=crystals,
        shard=shard,
        shards=shards,
        journal=journal,
        output=output,
        trajectories=trajectories,
        gpus=gpus,
    )
