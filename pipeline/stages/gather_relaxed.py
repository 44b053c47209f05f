from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Inputs, NewTable, OptionalInputs, OptionalOutput


@stage(each=Job.rows, when=lambda job: job.of_crystals() and job.crystals.relaxation.shards > 1)
def gather_relaxed(
    *, shards: Inputs, output: NewTable, trajectory_shards: OptionalInputs = (), trajectories: OptionalOutput = None
) -> None:
    """Join relaxed shards.

    Reads the tables of all shards. Writes one, and one of their trajectories.

    Args:
        shards: tables from `relax`, in their order
        trajectory_shards: tables of trajectories from `relax`, in the same order
        trajectories: table of trajectories to write (.parquet)
    """
    from pipeline.crystals.relaxation import RELAXED_COLUMNS, summary
    from pipeline.crystals.table import joined, records_of
    from pipeline.crystals.trajectory import TRAJECTORY_COLUMNS
    from pipeline.store.parquet import write_table
    from pipeline.store.provenance import gather_provenance

    frame = joined(shards, RELAXED_COLUMNS)
    write_table(output, frame)
    gather_provenance(output, shards)
    if trajectories:
        write_table(trajectories, joined(trajectory_shards, TRAJECTORY_COLUMNS))
        gather_provenance(trajectories, trajectory_shards)
    print(summary(records_of(frame)))
