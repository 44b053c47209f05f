from pipeline.stages.declaration import stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import Inputs, NewTable


@stage(each=Job.rows, when=lambda job: job.of_crystals() and job.crystals.relaxation.shards > 1)
def gather_relaxed(*, shards: Inputs, output: NewTable) -> None:
    """Join relaxed shards.

    Reads the tables of all shards. Writes one.

    Args:
        shards: tables from `relax`, in their order
    """
    from pipeline.crystals.relaxation import RELAXED_COLUMNS, summary
    from pipeline.crystals.table import frame_of, records_of
    from pipeline.store.parquet import read_table, write_table
    from pipeline.store.provenance import gather_provenance

    frames = [read_table(path, RELAXED_COLUMNS)[list(RELAXED_COLUMNS)] for path in shards]
    rows = [row for frame in frames for row in records_of(frame)]
    lists = [name for name, kind in RELAXED_COLUMNS.items() if kind == "list"]
    plain = [row | {name: list(row[name]) for name in lists} for row in rows]
    write_table(output, frame_of(plain, RELAXED_COLUMNS))
    gather_provenance(output, shards)
    print(summary(rows))
