from pipeline.stages.declaration import ON_CRYSTALS, stage
from pipeline.stages.job import Job
from pipeline.stages.parameters import HullPoints, Input, NewTable, Output, Rows


@stage(settings=Job.description_settings, each=Job.rows, **ON_CRYSTALS)
def assess(
    job: Job, *, described: Input, relaxed: Input, hull: HullPoints, rows: Rows, output: NewTable, csv: Output
) -> None:
    """Put together all that is known about each crystal.

    Reads the results of earlier stages. Writes energies above the hull, stability, uniqueness and novelty.

    Args:
        described: table from `describe`
        relaxed: table from `gather-relaxed`
        csv: the same as a readable table (.csv)
    """
    from pipeline.crystals.assess import DESCRIBED, RELAXED, assess_rows, write_csv
    from pipeline.crystals.hull import Hull
    from pipeline.crystals.table import CRYSTAL_COLUMNS, crystals_of
    from pipeline.store.parquet import read_table, write_table

    chosen = job.crystals
    known = read_table(rows, [*CRYSTAL_COLUMNS, "split"])
    train = crystals_of(known[(known["split"] == "train") & (known["reason"] == "")])
    frame = assess_rows(
        read_table(described, [*CRYSTAL_COLUMNS, "atoms", "elements", "density", *DESCRIBED]),
        read_table(relaxed, RELAXED),
        Hull.load(hull),
        [crystal for crystal in train if crystal is not None],
        workers=chosen.workers,
        seconds=chosen.seconds,
    )
    write_table(output, frame)
    write_csv(csv, frame)
    job.record([output, csv], job.description_settings(), [described, relaxed, hull, rows])
